from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from tests.store.bucket import BUCKET, served

# No test asserts a time. A failure prints what it takes to repeat it.
settings.register_profile("tokengap", deadline=None, print_blob=True)
settings.load_profile("tokengap")

PREFIXES = count()


@pytest.fixture(scope="session")
def server() -> Iterator[dict[str, str]]:
    """The environment that leads to an S3-compatible server on this machine."""
    with served() as environment:
        yield environment


@pytest.fixture
def remote(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a new store can be in a bucket; the environment leads there."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{next(PREFIXES)}/store"


@pytest.fixture(params=["disk", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be: in a folder, and in a bucket."""
    if request.param == "disk":
        return str(tmp_path / "store")
    remote: str = request.getfixturevalue("remote")
    return remote
