"""What the time of long gaps is made of: by hand, and against sums over `gap_causes` in Python."""

from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.planted import LIMIT_NS, planted
from tests.queries.given import MS, Library, Row, limits, stream
from tokengap.store.connect import Tables

LIMITS = limits(worst_gap=500 * MS)
STEADY = [10] * 80
PARTS = (
    "steady", "handoff", "preemption", "prefill_interference", "delivery_pause", "shared_pause",
    "unexplained",
)  # fmt: skip


def of_gaps(request_id: str, gaps_ms: list[int], **facts: object) -> Row:
    """A stream of its own deployment: nothing else runs beside it."""
    times = [t * MS for t in accumulate(gaps_ms, initial=100)]
    return stream(request_id, times, **({"deployment": request_id} | facts))


def test_parts_by_hand(library: Library) -> None:
    # After 50 ms of its gap a stream is preempted; the step is 10 ms.
    preempted = {"kind": "preempted", "t_ns": (100 + 800 + 50) * MS}
    library.bind(
        [
            of_gaps("held back", [*STEADY, 600, *[1] * 60]),
            of_gaps("preempted", [*STEADY, 700, *STEADY], marks=[preempted]),
            of_gaps("also preempted", [*STEADY, 900, *STEADY], marks=[preempted]),
            of_gaps("alone", [*STEADY, 800, *STEADY]),
            of_gaps("fine", STEADY),
        ]
    )
    found = library.rows(f"cause_parts({LIMITS})")
    # 700 and 900 ms less 50 ms before the mark are preemption; of these 50 ms each, 10 are steady.
    assert {(row["cause"], row["part"]): row["total_ns"] for row in found} == {
        ("delivery_pause", "steady"): 10 * MS,
        ("delivery_pause", "delivery_pause"): 590 * MS,
        ("preemption", "steady"): 20 * MS,
        ("preemption", "preemption"): (650 + 850) * MS,
        ("preemption", "unexplained"): 80 * MS,
        ("unexplained", "steady"): 10 * MS,
        ("unexplained", "unexplained"): 790 * MS,
    }
    assert {row["basis"] for row in found if row["cause"] != "unexplained"} == {"measured"}
    of_all = {(row["cause"], row["part"]): row["share"] for row in found}
    assert of_all["unexplained", "unexplained"] == pytest.approx(790 / (600 + 700 + 900 + 800))


def test_parts_of_each_cause_sum_to_its_gaps(library: Library, tmp_path: Path) -> None:
    tables = [table for table, _ in planted(500_000)]
    path = tmp_path / "planted.parquet"
    pq.write_table(pa.concat_tables(tables), path)
    library.show(Tables([str(path)]))
    asked = limits(worst_gap=LIMIT_NS)
    gaps: dict[tuple[str, str | None], int] = defaultdict(int)
    parts: dict[tuple[str, str | None, str], int] = defaultdict(int)
    for row in library.rows(f"gap_causes({asked})"):
        gaps[row["cause"], row["basis"]] += row["gap_ns"]
        for part in PARTS:
            parts[row["cause"], row["basis"], part] += row[f"{part}_ns"]
    found = {
        (row["cause"], row["basis"], row["part"]): row["total_ns"]
        for row in library.rows(f"cause_parts({asked})")
    }
    assert found == {key: total for key, total in parts.items() if total}
    assert len({cause for cause, _ in gaps}) == 6
    for key, total in gaps.items():
        assert sum(ns for (*of, _), ns in found.items() if tuple(of) == key) == total


def test_without_a_long_gap_there_are_no_parts(library: Library) -> None:
    library.bind([of_gaps("fine", STEADY)])
    assert library.rows(f"cause_parts({LIMITS})") == []
