"""What a handoff between two workers takes, and of what it is made.

`found == right != careless` says both: a case that cannot tell the two apart would fail.
"""

from pathlib import Path

import pytest

from tests.cases.commands import gaps, latency, query
from tests.cases.convert import (
    Case,
    Record,
    load_case,
    one_clock_lines,
    staged_lines,
    three_clock_lines,
)

MS = 1_000_000


def boundaries(tmp_path: Path, lines: list[Record], *args: str) -> dict[str, Record]:
    rows = query(tmp_path, lines, "handoff_boundaries", *args)
    return {row["boundary"]: row for row in rows if row["request_id"] == "a"}


def parts(tmp_path: Path, lines: list[Record], boundary: str) -> dict[str, int]:
    """What the stages cover of one boundary's span; those that cover nothing left out."""
    rows = query(tmp_path, lines, "handoff_stages")
    placed = [row for row in rows if row["boundary"] == boundary and row["placed"]]
    return {row["stage"]: row["stage_ns"] for row in placed if row["stage_ns"]}


def offsets(case: Case, spread: str = "") -> list[str]:
    clocks = case.input["clocks"]
    ahead = {name: each["offset_to_router_ns"] // MS for name, each in clocks.items()}
    return [arg for name, ms in ahead.items() for arg in ("--clock", f"{name}={ms:+}ms{spread}")]


def test_38_cross_host_offsets(tmp_path: Path) -> None:
    case = load_case("38")
    right, lines = case.expect, three_clock_lines(case)
    found = boundaries(tmp_path, lines, *offsets(case))
    assert found["engine"]["handoff_ns"] == right["handoff_gap_ns"] != case.naive["handoff_gap_ns"]
    assert found["transfer"]["handoff_ns"] == right["kv_transfer_ns"]
    views = query(tmp_path, lines, "vantage_differences", *offsets(case))
    (prefill,) = (row for row in views if row["part"] == "prefill")
    assert prefill["origin_to_inside_low_ns"] == right["ttft_ns"]
    assert prefill["origin_to_inside_high_ns"] == right["ttft_ns"]


def test_nothing_is_subtracted_without_offsets(tmp_path: Path) -> None:
    case = load_case("38")
    found = boundaries(tmp_path, three_clock_lines(case))
    assert found["engine"]["reason"] == "clock_unrelated"
    assert found["engine"]["handoff_ns"] is None
    assert found["engine"]["handoff_low_ns"] is None
    assert found["transfer"]["handoff_ns"] == case.expect["kv_transfer_ns"]  # on one clock


@pytest.mark.parametrize("spread_ms", [1, 60])
def test_uncertain_offsets_widen_the_value(tmp_path: Path, spread_ms: int) -> None:
    # Either worker's offset is uncertain by the spread, so their difference by twice as much.
    case = load_case("38")
    found = boundaries(tmp_path, three_clock_lines(case), *offsets(case, f"±{spread_ms}ms"))
    gap_ns, spread_ns = case.expect["handoff_gap_ns"], 2 * spread_ms * MS
    assert found["engine"]["reason"] == "clock_uncertain"
    assert found["engine"]["handoff_ns"] is None
    assert found["engine"]["handoff_low_ns"] == gap_ns - spread_ns  # may be negative, and is kept
    assert found["engine"]["handoff_high_ns"] == gap_ns + spread_ns


def test_42_pd_ttft_includes_transfer_and_decode_queue(tmp_path: Path) -> None:
    case = load_case("42")
    right, lines = case.expect["per_request"]["a"], staged_lines(case)
    row = latency(tmp_path, lines)["a"]
    assert row["ttft_ns"] == right["ttft_ns"]
    assert row["ttft_ns"] not in case.naive.values()
    assert row["ttft_ns"] <= row["e2e_ns"] == right["e2e_ns"]
    assert (row["handoff_gap_ns"], row["handoff_gap_reason"]) == (None, "inside_ttft")
    assert gaps(tmp_path, lines)["a"] == right["gaps_ns"]
    found = boundaries(tmp_path, lines)
    assert found["ttft"]["handoff_ns"] == case.expect["handoff_inside_ttft_ns"]
    assert found["stream"]["handoff_ns"] is None
    of_handoff = {"kv_transfer": 30 * MS, "decode_queue": 20 * MS, "decode_first_step": 20 * MS}
    assert parts(tmp_path, lines, "ttft") == of_handoff
    (stream,) = query(tmp_path, lines, "streams")
    stages = [stage["duration_ns"] for stage in stream["stages"]]
    assert sum(stages) == case.expect["stage_sum_ns"] == right["ttft_ns"]


def test_45_transfer_metric_measures_router_only(tmp_path: Path) -> None:
    case = load_case("45")
    right, lines = case.expect, one_clock_lines(case)
    found = boundaries(tmp_path, lines)
    assert found["stream"]["handoff_ns"] == right["handoff_gap_ns"]
    assert found["engine"]["handoff_ns"] == right["handoff_gap_ns"]
    assert (
        found["transfer"]["handoff_ns"] == right["kv_transfer_ns"] != case.naive["kv_transfer_ns"]
    )
    of_handoff = parts(tmp_path, lines, "engine")
    assert of_handoff == {
        "relay": right["router_ns"],
        "unaccounted": right["wait_for_transfer_ns"],
        "kv_transfer": right["kv_transfer_ns"],
        "decode_first_step": right["decode_admit_and_step_ns"],
    }
    assert sum(of_handoff.values()) == right["handoff_gap_ns"]
