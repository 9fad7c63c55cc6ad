from collections.abc import Iterator

import pytest

from tests.queries.given import Library, loaded_library
from tokengap.library import SHARED


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Loaded once, for loading takes longer than most tests; every test binds rows of its own."""
    with loaded_library(SHARED, tmp_path_factory.mktemp("parts")) as loaded:
        yield loaded
