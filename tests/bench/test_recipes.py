"""The logs that adapters are timed with hold what they should."""

from pathlib import Path

import pytest

from tests.bench.ingest import counted
from tests.bench.recipes import RECIPES, WITHOUT
from tokengap.adapters import ADAPTERS


def test_there_is_a_recipe_for_every_adapter() -> None:
    assert {adapter.name for adapter in ADAPTERS} == RECIPES.keys() | WITHOUT


@pytest.mark.parametrize("name", RECIPES)
def test_two_copies_hold_twice_the_streams_of_one(name: str, tmp_path: Path) -> None:
    (adapter,) = (adapter for adapter in ADAPTERS if adapter.name == name)
    log = RECIPES[name]()
    path, copies = log.write(tmp_path, 0)
    one = counted(adapter, log, path)
    path, copies = log.write(tmp_path, 2 * path.stat().st_size)
    assert copies >= 2
    assert counted(adapter, log, path) == tuple(copies * count for count in one)
    assert one[0] > 0
