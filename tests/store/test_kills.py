from pathlib import Path

from tests.store.kills import slaughter


def test_writers_killed_at_random_moments_leave_whole_loads(tmp_path: Path) -> None:
    found = slaughter(tmp_path, kills=20, seed=7)
    assert found.wrong == []
    assert found.snapshots > 20
