from pathlib import Path

from tests.store.kills import slaughter
from tokengap.store.places import is_remote


def test_writers_killed_at_random_moments_leave_whole_loads(tmp_path: Path, place: str) -> None:
    kills = 4 if is_remote(place) else 20
    found = slaughter(tmp_path, place, kills, seed=7)
    assert found.wrong == []
    assert found.snapshots > kills
