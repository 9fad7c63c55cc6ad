import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cases.commands import strict_json
from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, written
from tests.report.browser import Browser, browser
from tests.report.hostile import NAME, hostile
from tests.report.html import Page


@pytest.fixture(scope="session")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that an audit of `ONE_OF_EACH` writes under `LIMITS`."""
    return _once(tmp_path_factory, "harmless", ONE_OF_EACH, *LIMITS)


@pytest.fixture(scope="session")
def infected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that an audit writes of a log in which every text is an attack."""
    return _once(tmp_path_factory, "infected", hostile(), "--trace", NAME, *LIMITS)


@pytest.fixture(scope="session")
def one_of_each(harmless: Path) -> tuple[Page, Record]:
    """The page and the JSON of `ONE_OF_EACH` under `LIMITS`."""
    report = strict_json((harmless / "audit.json").read_text("utf-8"))
    return Page((harmless / "audit.html").read_text("utf-8")), report


@pytest.fixture(scope="session")
def attacked(infected: Path) -> Page:
    """The page of a log in which every text is an attack."""
    return Page((infected / "audit.html").read_text("utf-8"))


def _once(
    factory: pytest.TempPathFactory, name: str, log: Sequence[Record | str], *args: str
) -> Path:
    """What is written by whichever worker of pytest-xdist wants it first; the others wait."""
    root = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        root = root.parent  # of all workers
    folder = root / f"{name}-written"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = root / f"{name}-begun"
            made.mkdir(exist_ok=True)
            written(made, log, *args).rename(folder)
    return folder


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A tab of a Chromium, for as many pages as there are tests."""
    folder: Path = tmp_path_factory.mktemp("chromium")
    with browser(folder) as opened:
        yield opened
