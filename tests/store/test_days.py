from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.store.fakes import NOON_NS, PROVENANCE, batch
from tokengap.errors import StoreError
from tokengap.store import days as module
from tokengap.store.days import PartSet, days
from tokengap.store.parts import PartWriter, read_parts
from tokengap.utc import DAY_NS

MIDNIGHT_NS = NOON_NS + DAY_NS // 2


def test_a_day_ends_at_midnight_utc() -> None:
    origins = [MIDNIGHT_NS - 1, MIDNIGHT_NS, -1, 0]
    rows = batch(*[[]] * 4, clock_kind=["wall"] * 4, sent_ns=origins)
    found = {day: part.column("sent_ns").to_pylist() for day, part in days(rows)}
    assert found == {
        "2025-11-29": [MIDNIGHT_NS - 1], "2025-11-30": [MIDNIGHT_NS],
        "1969-12-31": [-1], "1970-01-01": [0],
    }  # fmt: skip


def test_without_a_wall_clock_or_an_origin_there_is_no_day() -> None:
    rows = batch(
        *[[]] * 4,
        request_id=["mono", "no clock", "no origin", "wall"],
        clock_kind=["monotonic", None, "wall", "wall"],
        sent_ns=[NOON_NS, NOON_NS, None, NOON_NS],
    )
    found = {day: part.column("request_id").to_pylist() for day, part in days(rows)}
    assert found == {"undated": ["mono", "no clock", "no origin"], "2025-11-29": ["wall"]}


def test_the_origin_is_the_first_stamp_the_log_has() -> None:
    rows = batch(
        *[[]] * 4,
        clock_kind=["wall"] * 4,
        sent_ns=[0, None, None, None],
        received_ns=[DAY_NS, DAY_NS, None, None],
        arrival_ns=[2 * DAY_NS] * 3 + [None],
        first_token_ns=[9 * DAY_NS] * 4,
    )
    assert [day for day, _ in days(rows)] == [
        "1970-01-01", "1970-01-02", "1970-01-03", "1970-01-10",
    ]  # fmt: skip


def test_rows_keep_their_order_within_a_day() -> None:
    # a thousand rows on each of two days, in turn and backwards in time
    origins = [NOON_NS + (row % 2) * DAY_NS - row for row in range(2000)]
    rows = batch(*[[]] * 2000, clock_kind=["wall"] * 2000, sent_ns=origins)
    found = {day: part.column("sent_ns").to_pylist() for day, part in days(rows)}
    assert found == {"2025-11-29": origins[::2], "2025-11-30": origins[1::2]}


def test_no_rows_are_on_no_day() -> None:
    assert list(days(batch())) == []


def test_each_day_gets_a_part_of_its_own(tmp_path: Path) -> None:
    with PartSet(tmp_path, PROVENANCE, by_day=True) as written:
        for origin in (NOON_NS, MIDNIGHT_NS, NOON_NS):
            written.write(batch([1], clock_kind=["wall"], sent_ns=[origin], output_tokens=[2]))
    assert {part.day: (part.streams, part.tokens) for part in written.parts} == {
        "2025-11-29": (2, 4), "2025-11-30": (1, 2),
    }  # fmt: skip
    assert all(read_parts(part.uri) == [part] for part in written.parts)


def test_without_days_there_is_one_part(tmp_path: Path) -> None:
    with PartSet(tmp_path, PROVENANCE, by_day=False) as written:
        for origin in (NOON_NS, MIDNIGHT_NS):
            written.write(batch([1], clock_kind=["wall"], sent_ns=[origin]))
    assert [(part.day, part.streams) for part in written.parts] == [(None, 2)]


@pytest.mark.parametrize(("by_day", "day"), [(True, "undated"), (False, None)])
def test_a_load_without_streams_has_an_empty_part(
    tmp_path: Path, by_day: bool, day: str | None
) -> None:
    with PartSet(tmp_path, PROVENANCE, by_day=by_day) as written:
        pass
    assert [(part.day, part.streams) for part in written.parts] == [(day, 0)]


def test_more_days_than_may_be_open_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OPEN_DAYS", 2)
    with PartSet(tmp_path, PROVENANCE, by_day=True) as written:
        for day in (0, 1, 2, 0, 1):
            written.write(batch([day], clock_kind=["wall"], sent_ns=[day * DAY_NS]))
    # days 0, 1 are open; 2 closes 0, the second 0 closes 1, the second 1 closes 2
    assert sorted(str(part.day) for part in written.parts) == [
        "1970-01-01", "1970-01-01", "1970-01-02", "1970-01-02", "1970-01-03",
    ]  # fmt: skip
    gaps = [pq.read_table(part.uri)["gaps_ns"].to_pylist() for part in written.parts]
    assert sorted(chain.from_iterable(gaps)) == [[0], [0], [1], [1], [2]]


def test_open_days_share_one_row_group_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROW_GROUP_GAPS", 50)
    flushed: list[int] = []
    flush = PartWriter.flush

    def noted(self: PartWriter) -> None:
        flushed.append(self.held)
        flush(self)

    monkeypatch.setattr(PartWriter, "flush", noted)
    with PartSet(tmp_path, PROVENANCE, by_day=True) as written:
        for day in (0, 1, 0):
            written.write(batch([1, 2], clock_kind=["wall"], sent_ns=[day * DAY_NS]))
        # 18 a row: the third makes 54, and day 0 holds 36 of them
        assert flushed == [36]


@pytest.mark.parametrize("close_some", [False, True])
def test_an_error_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, close_some: bool
) -> None:
    monkeypatch.setattr(module, "OPEN_DAYS", 1 if close_some else 2)
    written = PartSet(tmp_path, PROVENANCE, by_day=True)

    def adapter_breaks() -> None:
        with written:
            for day in (0, 1):
                written.write(batch([1], clock_kind=["wall"], sent_ns=[day * DAY_NS]))
            raise RuntimeError("adapter broke")

    with pytest.raises(RuntimeError, match="adapter broke"):
        adapter_breaks()
    assert list(tmp_path.iterdir()) == []
    assert written.parts == ()


def test_a_part_that_cannot_be_finished_takes_the_others_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    def second_fails(path: Path) -> None:
        seen.append(path)
        if len(seen) == 2:
            raise StoreError("bad footer")

    monkeypatch.setattr("tokengap.store.parts.verify", second_fails)
    written = PartSet(tmp_path, PROVENANCE, by_day=True)
    for day in (0, 1, 2):
        written.write(batch([1], clock_kind=["wall"], sent_ns=[day * DAY_NS]))
    with pytest.raises(StoreError, match="bad footer"), written:
        pass
    assert list(tmp_path.iterdir()) == []
