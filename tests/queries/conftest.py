from collections.abc import Iterator

import pytest

from tests.queries.given import Library, loaded_library
from tokengap.library import SHARED
from tokengap.store.promised import Promised, bind_promises


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Loaded once, for loading takes longer than most tests; every test binds rows of its own."""
    with loaded_library(SHARED, tmp_path_factory.mktemp("parts")) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def nothing_promised_afterwards(library: Library) -> Iterator[None]:
    """For tests that let the library judge services."""
    yield
    bind_promises(library.con, Promised())
