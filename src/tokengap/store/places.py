"""Where stores are: folders, and prefixes in buckets of any S3-compatible service.

Buckets are reached as the usual AWS environment variables say, by Delta Lake and by Arrow alike;
DuckDB reads through Arrow, so that it needs no extension of its own.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

import duckdb
import pyarrow.fs as pafs

from tokengap.errors import StoreError

S3: Final = "s3"
READERS: Final = 24
"""Arrow keeps 25 connections to a service; waiting for an answer takes no core."""

_PLACE: Final = re.compile(r"s3://[a-z0-9][a-z0-9.-]+(/[\w.=-]+)*/?", re.ASCII)
_INNER: Final = re.compile(rf"^(?:[\w.]+\.)?{StoreError.__name__}: (.*)$", re.MULTILINE)
_COLOUR: Final = re.compile(r"\x1b\[\d+m")
_PATIENCE: Final = {
    "connect_timeout": "5s",
    "timeout": "30s",
    "max_retries": "5",
    "retry_timeout": "30s",
}
"""Of Delta Lake, which otherwise takes three minutes to say that nobody answers."""

T = TypeVar("T")


def is_remote(uri: str) -> bool:
    """True for a URI, false for a path on this machine."""
    return "://" in uri


def file_system(uri: str) -> tuple[pafs.FileSystem, str]:
    """The file system that `uri` is on, and the path there.

    StoreError if it can be none, or if the environment does not say how to reach it.
    """
    if is_remote(uri):
        return _arrow(_access(uri)), uri.removeprefix(f"{S3}://")
    filesystem, path = pafs.FileSystem.from_uri(uri)
    return filesystem, path


def storage_options(uri: str) -> dict[str, str] | None:
    """What Delta Lake must know to reach `uri`; None on this machine. Raises as `file_system`."""
    return _access(uri).storage_options() if is_remote(uri) else None


def reach(uri: str) -> None:
    """StoreError, within seconds, unless the bucket is there and lets itself be looked at."""
    filesystem, path = file_system(uri)
    bucket, *_ = path.split("/")
    _far_files(uri)
    with reaching(uri):
        found = filesystem.get_file_info(bucket)
    if found.type is pafs.FileType.NotFound:
        raise StoreError(f"{uri}: there is no bucket {bucket} at {_access(uri).service}; make it")


@contextmanager
def reaching(uri: str) -> Iterator[None]:
    """Make a failure of the disk, or of the way to a bucket, a StoreError."""
    try:
        yield
    except OSError as error:
        advice = f"; {_access(uri).advice}" if is_remote(uri) else ""
        raise StoreError(f"{uri}: cannot be reached ({reason(error)}){advice}") from error


def reason(error: BaseException) -> str:
    """What an error says, in one line without colours."""
    return " ".join(_COLOUR.sub("", str(error)).split())


def open_to(con: duckdb.DuckDBPyConnection, uris: Sequence[str]) -> None:
    """Let the connection read these files, wherever they are."""
    remote = next(filter(is_remote, uris), None)
    if remote is not None and S3 not in con.list_filesystems():
        con.register_filesystem(_far_files(remote)(file_system(remote)[0]))


@contextmanager
def asking() -> Iterator[None]:
    """Let a StoreError through DuckDB, which makes an error of its own of it."""
    try:
        yield
    except duckdb.Error as error:
        inner = _INNER.search(str(error))
        if inner is None:
            raise
        raise StoreError(inner[1]) from error


def of_each(function: Callable[[str], T], uris: Sequence[str]) -> list[T]:
    """The function of every file, many at a time if they are far away."""
    if not any(map(is_remote, uris)):
        return [function(uri) for uri in uris]
    with ThreadPoolExecutor(READERS) as pool:
        return list(pool.map(function, uris))


@dataclass(frozen=True)
class _Access:
    """What the environment says of an S3-compatible service. endpoint: None for Amazon's own."""

    key: str
    secret: str
    token: str | None
    region: str
    endpoint: str | None

    @property
    def service(self) -> str:
        return self.endpoint or f"Amazon S3 in {self.region}"

    @property
    def advice(self) -> str:
        return f"is {self.service} right, and may this key use it? See AWS_ENDPOINT_URL, AWS_REGION"

    def storage_options(self) -> dict[str, str]:
        said = {
            "aws_access_key_id": self.key,
            "aws_secret_access_key": self.secret,
            "aws_session_token": self.token,
            "aws_region": self.region,
            "aws_endpoint_url": self.endpoint,
            "aws_allow_http": "true" if _is_plain(self.endpoint) else None,
            # A commit is a file that must not be there: of two writers the service refuses one.
            "aws_conditional_put": "etag",
        }
        return {name: value for name, value in said.items() if value is not None} | _PATIENCE


def _access(uri: str) -> _Access:
    if not uri.startswith(f"{S3}://"):
        raise StoreError(
            f"{uri}: a store is a folder or s3://bucket/prefix; logs are files on disk"
        )
    if not _PLACE.fullmatch(uri):
        raise StoreError(f"{uri}: expected s3://bucket/prefix of letters, digits and . _ - =")
    said = os.environ
    key, secret = said.get("AWS_ACCESS_KEY_ID"), said.get("AWS_SECRET_ACCESS_KEY")
    if not (key and secret):
        raise StoreError(
            f"{uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (for a role AWS_SESSION_TOKEN "
            "too: `aws configure export-credentials --format env` prints them)"
        )
    region = said.get("AWS_REGION") or said.get("AWS_DEFAULT_REGION") or "us-east-1"
    return _Access(key, secret, said.get("AWS_SESSION_TOKEN") or None, region, _endpoint(uri, said))


def _endpoint(uri: str, said: Mapping[str, str]) -> str | None:
    name = next((n for n in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") if said.get(n)), None)
    if name is None:
        return None
    endpoint = said[name].rstrip("/")
    if not endpoint.startswith(("http://", "https://")):
        raise StoreError(f"{uri}: {name}={endpoint}: expected https://HOST or http://HOST:PORT")
    if _is_plain(endpoint) and said.get("AWS_ALLOW_HTTP", "").lower() not in ("true", "1"):
        raise StoreError(
            f"{uri}: {name}={endpoint} is not encrypted; use https, or set AWS_ALLOW_HTTP=true"
        )
    return endpoint


def _is_plain(endpoint: str | None) -> bool:
    return endpoint is not None and endpoint.startswith("http://")


@cache
def _arrow(access: _Access) -> pafs.FileSystem:
    return pafs.S3FileSystem(
        access_key=access.key,
        secret_key=access.secret,
        session_token=access.token,
        region=access.region,
        endpoint_override=access.endpoint,
        connect_timeout=5,
        request_timeout=10,
        allow_delayed_open=True,  # a file of few bytes is one request, and there at once or not
    )


def _far_files(uri: str) -> Any:
    try:
        from tokengap.store.far import FarFiles  # noqa: PLC0415  # needs an extra
    except ImportError as error:
        raise StoreError(f"{uri}: a bucket takes more; pip install 'tokengap[s3]'") from error
    return FarFiles
