"""Load and gaps on one time axis of the page."""

from pathlib import Path
from typing import Any

from tests.cases.commands import run, write_log
from tests.cases.convert import Record
from tests.report.auditing import LIMITS, MS, ONE_OF_EACH, page_of, request
from tests.report.html import Page, data, written
from tokengap.report.chart_load import SERIES

TITLE = "Load and gaps over time"
START_NS = 1_764_412_800 * 10**9  # 2025-11-29 10:40:00 UTC


def stretches(page: Page) -> list[dict[str, Any]]:
    return data(page.chart("load"), "when", "gap")


def texts(spec: dict[str, Any]) -> list[str]:
    """What is written in the chart, its panels included."""
    layers = [part for layer in spec["layer"] for part in layer.get("layer", [layer])]
    return written(spec | {"layer": layers})


def test_gaps_and_load_stand_over_one_axis(one_of_each: tuple[Page, Record]) -> None:
    """All are sent at 0, and the last token comes after 1.4 s: 141 stretches of 10 ms."""
    page, _ = one_of_each
    found = stretches(page)
    assert len(found) == 141
    assert [row["arrivals"] for row in found if row["arrivals"]] == [8]
    assert max(row["running_streams"] for row in found) == 7  # all but the one-token answer
    over = {row["when"]: row["gap"] for row in found if row["over"]}
    # hidden: 100 + 19 * 10 + 610; possible and both: 100 + 600; both: 700 + 700 ms
    assert over == {
        "700 ms after the start": "600 ms",
        "900 ms after the start": "610 ms",
        "1.4 s after the start": "700 ms",
    }
    assert {"worst gap ≤ 500 ms", "700 ms", SERIES["arrivals"], SERIES["running_streams"]} <= set(
        texts(page.chart("load"))
    )


def test_it_says_what_it_counts_and_what_is_missing(one_of_each: tuple[Page, Record]) -> None:
    section = one_of_each[0].section(TITLE)
    assert section.texts("p", "scope")[0].startswith("n 44 gaps, per gap, and 8 arrivals · client")
    width, missing = section.texts("p", "remark")
    assert width.startswith("141 stretches of 10 ms each. Gaps are of completed requests")
    assert missing == "Not shown: prompt tokens in prefill; no prefill of a known prompt length is."


def test_prompt_tokens_have_a_plot_where_they_are_known(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", [10, 20], prompt_tokens=70)])
    assert SERIES["prefill_tokens"] in texts(page.chart("load"))
    assert max(row["prefill_tokens"] for row in stretches(page)) == 70
    assert page.section(TITLE).texts("p", "remark")[1] == "Prefills: 1 inferred."


def test_wall_clocks_give_utc(tmp_path: Path) -> None:
    times = [START_NS + n * 1000 * MS for n in (1, 2, 4)]
    log = {"request_id": "a", "sent_ns": START_NS, "times_ns": times, "clock_kind": "wall"}
    page, _ = page_of(tmp_path, [log | {"status": "completed"}], *LIMITS)
    chart = page.chart("load")
    axes = {
        layer["encoding"]["x"]["axis"]["title"]
        for panel in chart["layer"]
        for layer in panel.get("layer", [panel])
        if "axis" in layer["encoding"].get("x", {})
    }
    assert axes == {"time, UTC, 2025-11-29"}
    first = stretches(page)[0]
    assert (first["from"], first["when"]) == (START_NS / MS, "2025-11-29 10:40:00 UTC")


def test_unrelated_clocks_have_no_common_axis(tmp_path: Path) -> None:
    logs = [str(write_log(tmp_path / f"{name}.jsonl", [request(name, [10])])) for name in "ab"]
    file = tmp_path / "audit.html"
    run("audit", *logs, "--html", str(file))
    section = Page(file.read_text("utf-8")).section(TITLE)
    assert section.charts == []
    (why,) = section.texts("p", "empty")
    assert why.startswith("Judged requests are stamped by 2 clocks that nothing relates")
    run("audit", *logs, "--html", str(file), "--force", "--same-clock")
    assert Page(file.read_text("utf-8")).section(TITLE).charts


def test_a_log_without_times_says_so(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, ONE_OF_EACH, "--window", "10s..20s")
    section = page.section(TITLE)
    assert section.texts("p", "empty") == ["No request belongs to the judged window."]


def test_a_long_run_stays_within_its_marks(tmp_path: Path) -> None:
    log = [request(f"r{n}", [10, 20 + n % 7], sent_ns=-n * MS) for n in range(3000)]
    page, _ = page_of(tmp_path, log, *LIMITS)
    assert len(stretches(page)) <= 200
    assert sum(row["arrivals"] for row in stretches(page)) == 3000
