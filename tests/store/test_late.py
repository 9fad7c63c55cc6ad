from pathlib import Path

import pytest

from tests.store.fakes import NOON_NS, FakeAdapter, line, log
from tests.store.kept import HOUR_NS, Kept
from tokengap.store import parts
from tokengap.store.contents import contents
from tokengap.store.late import LATE_AFTER_NS
from tokengap.utc import DAY_NS

MIDNIGHT_NS = NOON_NS + 12 * HOUR_NS
"""End of 29 November 2025."""


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def loaded_at(kept: Kept, monkeypatch: pytest.MonkeyPatch, now_ns: int) -> dict[str, int]:
    """Load all logs at that time; what came late, by day."""
    monkeypatch.setattr(parts, "now_ns", lambda: now_ns)
    return dict(kept.ingest().late)


@pytest.mark.parametrize(("after_ns", "expected"), [(0, {}), (1, {"2025-11-29": 2})])
def test_data_is_late_36_hours_after_its_day(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, after_ns: int, expected: dict[str, int]
) -> None:
    assert LATE_AFTER_NS == 36 * HOUR_NS
    log(kept.logs / "mono.log", line("m", 5, 9, clock="monotonic"))  # of no day
    kept.write("a", "a1", "a2")
    kept.write("b", "b1", start_ns=NOON_NS + DAY_NS)
    assert loaded_at(kept, monkeypatch, MIDNIGHT_NS + LATE_AFTER_NS + after_ns) == expected
    held = {day: held.late_streams for day, held in contents(kept.store).days.items()}
    assert held == {"2025-11-29": 0, "2025-11-30": 0, "undated": 0} | expected
    assert contents(kept.store).total.late_streams == sum(expected.values())


def test_what_was_there_already_is_not_late(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.write("a", "a1", "a2")
    assert loaded_at(kept, monkeypatch, MIDNIGHT_NS) == {}
    assert loaded_at(kept, monkeypatch, MIDNIGHT_NS + 9 * DAY_NS) == {}


def test_a_log_that_grew_brings_only_what_is_new(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write("a", "a1", "a2")
    loaded_at(kept, monkeypatch, MIDNIGHT_NS)
    path = kept.logs / "a.log"
    later = [line(f"b{n}", NOON_NS + 9 * DAY_NS, NOON_NS + 9 * DAY_NS + 7) for n in range(3)]
    path.write_text(path.read_text("utf-8") + "\n".join(later) + "\n", "utf-8")
    assert loaded_at(kept, monkeypatch, NOON_NS + 10 * DAY_NS) == {}
    path.write_text(path.read_text("utf-8") + line("a3") + "\n", "utf-8")
    assert loaded_at(kept, monkeypatch, NOON_NS + 10 * DAY_NS) == {"2025-11-29": 1}


def test_what_is_read_in_another_way_changes_its_day(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write("a", "a1", "a2")
    loaded_at(kept, monkeypatch, MIDNIGHT_NS)
    monkeypatch.setattr(parts, "now_ns", lambda: NOON_NS + 10 * DAY_NS)
    summary = kept.ingest(adapters=(FakeAdapter(version=2),))
    assert summary.late == {"2025-11-29": 2}
