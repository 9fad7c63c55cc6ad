"""What a process does that works on a store and is killed on the way."""

import os
import resource
import signal
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.store.fakes import FakeAdapter
from tokengap.errors import StoreError
from tokengap.store import beside, delta, ingest, parts
from tokengap.store.compact import compact
from tokengap.store.tables import Store

OWNERS: Final = {
    "PartWriter": parts.PartWriter,
    "DeltaFiles": delta.DeltaFiles,
    "Beside": beside.Beside,
}


def load_and_die(
    log: str, store: str, scratch: Path, environment: Mapping[str, str], version: int, owner: str,
    method: str, number: int, when: str,
) -> None:  # fmt: skip
    """Load a log, killed before, or after, the nth call of a method; never for n = 0."""
    os.environ.update(environment)
    original, calls = getattr(OWNERS[owner], method), []

    def fatal(*args: Any, **kwargs: Any) -> Any:
        calls.append(method)
        last = len(calls) == number
        if last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*args, **kwargs)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(OWNERS[owner], method, fatal)
    ingest.ingest([log], store, scratch, adapters=(FakeAdapter(version=version),))


def load_on_a_full_disk(
    path: str, store: str, scratch: Path, says: Path, owner: str, method: str, number: int
) -> None:
    """Load a log while no file can have over 64 bytes during the nth call of a method."""
    original, calls = getattr(OWNERS[owner], method), []
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full(*args: Any, **kwargs: Any) -> Any:
        calls.append(method)
        if len(calls) != number:
            return original(*args, **kwargs)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, unlimited[1]))
        try:
            return original(*args, **kwargs)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)

    setattr(OWNERS[owner], method, full)
    try:
        ingest.ingest([path], store, scratch, adapters=(FakeAdapter(),))
    except StoreError as error:
        says.write_text(str(error), "utf-8")


def load_when_told(
    paths: list[str], store: str, scratch: Path, go: Any, environment: Mapping[str, str]
) -> None:
    """Load logs as soon as all are ready to."""
    os.environ.update(environment)
    scratch.mkdir()
    go.wait()
    ingest.ingest(paths, store, scratch, adapters=(FakeAdapter(),))


def churn(paths: list[str], store: str, scratch: Path, environment: Mapping[str, str]) -> None:
    """Load the logs anew and merge the files, over and over, until killed."""
    os.environ.update(environment)
    scratch.mkdir(exist_ok=True)
    for version in count(os.getpid()):  # not what another loads already
        ingest.ingest(paths, store, scratch, adapters=(FakeAdapter(version=version),))
        compact(Store(store), scratch, many_files=2)
