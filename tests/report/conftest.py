import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, page_of
from tests.report.html import Page


@pytest.fixture(scope="session")
def one_of_each(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Record]:
    """The page and the JSON of `ONE_OF_EACH` under `LIMITS`."""
    return page_of(tmp_path_factory.mktemp("each"), ONE_OF_EACH, *LIMITS)
