"""What the report makes of logs that are hard to draw."""

from pathlib import Path

import pytest

from tests.cases.convert import Case, Record, load_case, stream_line
from tests.report.auditing import page_of
from tests.report.html import data
from tokengap.report import render

MS = 1_000_000
PER_REQUEST = 10_000
LIMITS = ("--limit", "tpot=50ms", "--limit", "worst_gap=1s")


def generated(case: Case) -> list[Record]:
    """The case's gaps in order, spread over requests."""
    made = case.input["generator"]
    if "value_ns" in made:
        gaps = [made["value_ns"]] * made["count"]
    else:
        assert made["formula_ns"] == "10_000_000 + (i % 7) * 1000"
        gaps = [10_000_000 + (i % 7) * 1000 for i in range(made["count"])]
    gaps[made["override"]["index_0based"]] = made["override"]["value_ns"]
    return [_request(start, gaps) for start in range(0, len(gaps), PER_REQUEST)]


def _request(start: int, gaps: list[int]) -> Record:
    times = [100 * MS]
    for gap in gaps[start : start + PER_REQUEST]:
        times.append(times[-1] + gap)
    return stream_line(f"r{start // PER_REQUEST}", times)


def test_77_chart_row_limit(tmp_path: Path) -> None:
    case = load_case("77")
    right = case.expect
    page, report = page_of(tmp_path, generated(case), *LIMITS)
    gaps = report["percentiles"]["gap_ns"]
    assert (gaps["n"], gaps["max"]) == (right["n_gaps"], right["max_gap_ns"])
    curve = data(page.chart("gap_survival"), "gap", "share")
    assert len(curve) <= right["chart_rows_at_most"] < case.input["generator"]["count"]
    assert right["outlier_in_chart_data"]
    assert max(row["gap"] for row in curve) == right["max_gap_ns"] / MS


def test_78_renderer_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = load_case("78")
    right = case.expect
    log = generated(case)
    page, report = page_of(tmp_path, log, *LIMITS)
    gaps = report["percentiles"]["gap_ns"]
    assert (gaps["n"], gaps["max"]) == (case.input["generator"]["count"], right["max_gap_ns"])
    assert gaps["p50"] == right["median_linear_ns"]
    assert page.charts
    for spec in page.charts:
        assert sum(map(len, spec["datasets"].values())) <= right["chart_rows_at_most"]

    monkeypatch.setattr(render, "BOUNDS", render.Bounds(memory_bytes=64 * 2**20, time_s=120))
    starved, report = page_of(tmp_path, log, *LIMITS)  # this process survives
    assert report["percentiles"]["gap_ns"] == gaps
    (said,) = starved.texts("p", "undrawn")
    assert "the renderer needed more than 64 MiB of memory" in said
    assert not starved.charts
    assert not starved.scripts
    assert "script-src 'none'" in starved.policy
    assert starved.section("Percentiles").rows == page.section("Percentiles").rows
    (stall,) = starved.section("Hidden stalls").rows
    assert stall[0] == f"r{case.input['generator']['override']['index_0based'] // PER_REQUEST}"
