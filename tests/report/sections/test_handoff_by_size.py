"""The handoff against its size on the page."""

from pathlib import Path

from tests.report.auditing import page_of, request
from tests.report.html import Page, data, written

TITLE = "Handoff against its size"
DECLARED = ("--last-prefill-token", "1")


def texts(page: Page) -> list[str]:
    """What is written in the chart, its panels included."""
    chart = page.chart("handoff_by_size")
    layers = [part for layer in chart["layer"] for part in layer.get("layer", [layer])]
    return written(chart | {"layer": layers})


def test_each_request_is_a_mark_at_its_handoff(tmp_path: Path) -> None:
    log = [request("a", [30, 10], prompt_tokens=100), request("b", [50, 10], prompt_tokens=400)]
    page, _ = page_of(tmp_path, log, *DECLARED, "--limit", "handoff_gap=40ms")
    marks = {row["request"]: row for row in data(page.chart("handoff_by_size"), "size", "handoff")}
    assert {name: (row["size"], row["handoff"]) for name, row in marks.items()} == {
        "a": (100, 30),
        "b": (400, 50),
    }
    assert (marks["a"]["carried"], marks["a"]["lasted"]) == ("100", "30 ms")
    assert {"handoff by boundary stream, n 2", "handoff gap ≤ 40 ms"} <= set(texts(page))


def test_kv_bytes_go_before_prompt_tokens(tmp_path: Path) -> None:
    log = [request("a", [30], prompt_tokens=100, kv_bytes=2**20), request("b", [20])]
    page, _ = page_of(tmp_path, log, *DECLARED)
    (mark,) = data(page.chart("handoff_by_size"), "size", "handoff")
    assert mark["carried"] == "1 MiB"
    assert page.section(TITLE).texts("p", "remark") == [
        "Boundary stream: 1 of 2 handoffs left out, for no log says their size."
    ]


def test_without_sizes_it_says_so_and_without_handoffs_it_is_not_there(tmp_path: Path) -> None:
    page, _ = page_of(tmp_path, [request("a", [30])], *DECLARED)
    (why,) = page.section(TITLE).texts("p", "empty")
    assert why.startswith("No log says how many prompt tokens, or bytes of KV cache")
    page, _ = page_of(tmp_path, [request("a", [30], prompt_tokens=9)])
    assert TITLE not in page.texts("h2")


def test_many_requests_share_marks(tmp_path: Path) -> None:
    log = [request(f"r{n}", [1 + n % 997], prompt_tokens=1 + n * 7 % 1000) for n in range(2000)]
    page, _ = page_of(tmp_path, log, *DECLARED)
    marks = data(page.chart("handoff_by_size"), "size", "handoff")
    assert len(marks) < 700
    assert sum(row["requests"] for row in marks) == 2000
    assert max(row["handoff"] for row in marks) == 997
