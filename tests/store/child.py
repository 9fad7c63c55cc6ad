"""What a process does that works on a store and is killed on the way."""

import os
import signal
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.store.fakes import FakeAdapter
from tokengap.store import delta, ingest, parts
from tokengap.store.compact import compact
from tokengap.store.tables import Store

OWNERS: Final = {"PartWriter": parts.PartWriter, "DeltaFiles": delta.DeltaFiles}


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


def churn(paths: list[str], store: str, scratch: Path, environment: Mapping[str, str]) -> None:
    """Load the logs anew and merge the files, over and over, until killed."""
    os.environ.update(environment)
    scratch.mkdir(exist_ok=True)
    for version in count(os.getpid()):  # not what another loads already
        ingest.ingest(paths, store, scratch, adapters=(FakeAdapter(version=version),))
        compact(Store(store), scratch, many_files=2)
