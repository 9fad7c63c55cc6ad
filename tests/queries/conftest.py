from collections.abc import Iterator

import pytest

from tests.queries.given import Library
from tokengap.library import SHARED, load, read_catalogue
from tokengap.store.connect import Declared, connect


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Loaded once, for loading takes longer than most tests; every test binds rows of its own."""
    catalogue = read_catalogue().storing(SHARED)
    with connect(Declared()) as con:
        con.execute("SET threads = 1")  # tiny tables
        load(con, catalogue)
        yield Library(con, catalogue, tmp_path_factory.mktemp("parts"))
