"""An S3-compatible server on loopback, in a process of its own.

moto looks whether a file is there and then writes it: with one request at a time the two are one
step, as a service must make them for a commit. In the process of the tests nobody would answer
Delta Lake, which does not let other threads run while it waits.

    python -m tests.store.bucket    serves until its standard input ends, and prints where
"""

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from typing import Any, Final

import pyarrow.fs as pafs

HOST: Final = "127.0.0.1"
BUCKET: Final = "tokengap-tests"
KEYS: Final = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "eu-central-1",
    "AWS_ALLOW_HTTP": "true",
}


def environment() -> dict[str, str]:
    """What leads to a bucket here, for another process."""
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


@contextmanager
def served() -> Iterator[dict[str, str]]:
    """The environment that leads to a server with an empty bucket called `BUCKET`."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        endpoint = process.stdout.readline().strip()
        pafs.S3FileSystem(
            access_key=KEYS["AWS_ACCESS_KEY_ID"],
            secret_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region=KEYS["AWS_REGION"],
            endpoint_override=endpoint,
            allow_bucket_creation=True,
        ).create_dir(BUCKET)
        yield KEYS | {"AWS_ENDPOINT_URL": endpoint}
        process.stdin.close()


def _serve() -> None:
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415  # nobody else needs it
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.serving import make_server  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto, one_at_a_time = DomainDispatcherApplication(create_backend_app), Lock()

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with one_at_a_time:
            return list(moto(environ, start))

    server = make_server(HOST, 0, application, threaded=True, request_handler=MotoRequestHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://{HOST}:{server.server_port}", flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
