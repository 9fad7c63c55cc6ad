from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, page_of
from tests.report.browser import Browser, browser
from tests.report.hostile import NAME, hostile
from tests.report.html import Page


@pytest.fixture(scope="session")
def one_of_each(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Record]:
    """The page and the JSON of `ONE_OF_EACH` under `LIMITS`."""
    return page_of(tmp_path_factory.mktemp("each"), ONE_OF_EACH, *LIMITS)


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of a log in which every text is an attack."""
    return page_of(tmp_path_factory.mktemp("hostile"), hostile(), "--trace", NAME, *LIMITS)[0]


@pytest.fixture(scope="session")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A tab of a Chromium, for as many pages as there are tests."""
    folder: Path = tmp_path_factory.mktemp("chromium")
    with browser(folder) as opened:
        yield opened
