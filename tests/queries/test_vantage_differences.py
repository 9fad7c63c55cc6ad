"""What each view of a request sees, and how long the way from one to the other was."""

from typing import Any, Final

import pytest

from tests.queries.given import MS, Library, Row, clock, deliveries
from tests.queries.views import CAME_AT, view

SPANS: Final = ("way_in", "way_out", "inside_to_user", "origin_to_inside")


def seen(vantage: str, origin_ms: int, *times_ms: int, **facts: Any) -> Row:
    came = {CAME_AT[vantage]: origin_ms * MS}
    row = view("a", vantage, {"x_request_id": "a"}, **came, **facts)
    return row | deliveries([t * MS for t in times_ms]) | {"output_tokens": len(times_ms)}


def test_views_are_set_beside_each_other(library: Library) -> None:
    # Sent at 0, there 42 ms later; the first token took 200 ms, and 8 ms to the client.
    library.bind([seen("client", 0, 250, 290), seen("engine", 42, 242, 272, clock="client")])
    found = library.row("vantage_differences")
    assert (found["vantage"], found["inner_vantage"], found["part"]) == (
        "client",
        "engine",
        "whole",
    )
    assert (found["inner_request_id"], found["inner_status"]) == ("a", "completed")
    assert (found["ttft_ns"], found["inner_ttft_ns"]) == (250 * MS, 200 * MS)
    assert found["ttft_difference_ns"] == 50 * MS
    assert (found["worst_gap_ns"], found["inner_worst_gap_ns"]) == (40 * MS, 30 * MS)
    assert (found["e2e_ns"], found["inner_e2e_ns"]) == (290 * MS, 230 * MS)
    spans_ms = {"way_in": 42, "way_out": 8, "inside_to_user": 208, "origin_to_inside": 242}
    for name, span_ms in spans_ms.items():
        assert found[f"{name}_low_ns"] == found[f"{name}_high_ns"] == span_ms * MS
    assert found["reason"] is None


def test_skew_gives_a_negative_span_which_is_kept(library: Library) -> None:
    # Arrived 3 ms before it was sent: the two clocks are not as equal as declared.
    library.bind([seen("client", 45, 250, 290), seen("engine", 42, 242, 272, clock="client")])
    found = library.row("vantage_differences")
    assert (found["way_in_low_ns"], found["way_in_high_ns"]) == (-3 * MS, -3 * MS)
    assert library.row("vantage_summary")["negative"] == 1


@pytest.mark.parametrize(
    ("known", "spans_ms", "reason"),
    [
        ([clock("engine", "client", 5 * MS, 1 * MS)], (36, 38, 12, 14), "clock_uncertain"),
        ([clock("engine", "client", 5 * MS)], (37, 37, 13, 13), None),
        # Received at 250 and 290 what was made at 242 and 272: at least 8 ms behind. There at 42
        # what was sent at 0: at most 42 ms ahead.
        ([], (0, 50, 0, 50), "clock_uncertain"),
    ],
)
def test_spans_between_views_are_as_certain_as_their_clocks(
    library: Library, known: list[Row], spans_ms: tuple[int, ...], reason: str | None
) -> None:
    # The stamps are 42 and 8 ms apart.
    rows = [seen("client", 0, 250, 290), seen("engine", 42, 242, 272)]
    library.bind(rows, clocks=known)
    found = library.row("vantage_differences")
    names = ["way_in_low_ns", "way_in_high_ns", "way_out_low_ns", "way_out_high_ns"]
    assert [found[name] for name in names] == [span_ms * MS for span_ms in spans_ms]
    assert found["reason"] == reason


def test_between_clocks_that_nothing_relates_there_is_no_span(library: Library) -> None:
    library.bind([seen("client", 0, 250), seen("engine", 42, 242, clock=None)])
    found = library.row("vantage_differences")
    assert {found[f"{name}_{side}_ns"] for name in SPANS for side in ("low", "high")} == {None}
    assert found["reason"] == "clock_unrelated"
    assert found["ttft_difference_ns"] == 50 * MS  # each on its own clock
    assert library.row("vantage_summary")["unrelated"] == 1


@pytest.mark.parametrize(
    ("k", "way_out_ms"),
    [
        (0, {"prefill": None, "decode": 250 - 230}),  # the prefill worker's token is thrown away
        (1, {"prefill": 250 - 142, "decode": None}),  # the decode worker's is the second
        (None, {"prefill": None, "decode": None}),
    ],
)
def test_the_first_token_is_that_of_the_half_which_the_user_sees(
    library: Library, k: int | None, way_out_ms: dict[str, int | None]
) -> None:
    facts = {"clock": "client", "handoff_source": "log"}
    prefill = {"prefill_worker": "p", "last_prefill_token": 1, "request_id": "p"}
    decode = {"decode_worker": "d", "last_prefill_token": 0, "request_id": "d"}
    rows = [
        seen("client", 0, 250, 290, last_prefill_token=k),
        seen("engine", 42, 142, **facts) | prefill,
        seen("engine", 150, 230, 272, **facts) | decode,
    ]
    library.bind(rows)
    found = {row["part"]: row for row in library.rows("vantage_differences")}
    for part, span_ms in way_out_ms.items():
        span_ns = None if span_ms is None else span_ms * MS
        assert found[part]["way_out_low_ns"] == found[part]["way_out_high_ns"] == span_ns
    assert found["decode"]["way_in_low_ns"] == 150 * MS
    assert found["decode"]["inner_ttft_ns"] is None  # its arrival is not the request's


def test_the_summary_counts_completed_requests(library: Library) -> None:
    ids = {"x_request_id": "b"}
    rows = [
        seen("client", 0, 250, 290), seen("engine", 42, 242, 272, clock="client"),
        view("b", "client", ids, status="failed"), view("b", "engine", ids, clock="client"),
        view("c", "client", {}),
    ]  # fmt: skip
    library.bind(rows)
    found = library.row("vantage_summary")
    assert (found["vantage"], found["inner_vantage"], found["part"]) == (
        "client",
        "engine",
        "whole",
    )
    assert (found["requests"], found["of"]) == (1, 2)
    assert (found["ttft_p50_ns"], found["inner_ttft_p50_ns"]) == (250 * MS, 200 * MS)
    assert (found["worst_gap_p50_ns"], found["inner_worst_gap_p50_ns"]) == (40 * MS, 30 * MS)
    assert found["way_in_low_p50_ns"] == found["way_in_high_p50_ns"] == 42 * MS
    assert found["way_out_low_p50_ns"] == found["way_out_high_p50_ns"] == 8 * MS
    assert (found["unrelated"], found["negative"]) == (0, 0)
