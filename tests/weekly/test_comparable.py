from typing import Any

import pytest

from tokengap.slo.limits import STATISTICS
from tokengap.weekly.comparable import why_not

SPANS = {"ttft", "e2e", "good"}
GAPS = {"tpot", "gap_p50", "gap_p90", "gap_p99", "worst_gap", "handoff_gap", "good"}
ALL = [*STATISTICS, "good"]


def place(offered: int = 100, **facts: Any) -> dict[str, Any]:
    row = {
        "origin": "sent", "granularity": "token", "handoff_place": "gap",
        "handoff_boundary": "stream", "offered": offered,
    }  # fmt: skip
    assert facts.keys() <= row.keys()
    return row | facts


def refused(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> dict[str, str]:
    """Why, by statistic."""
    found = {name: why_not(name, before, now) for name in ALL}
    return {name: why for name, why in found.items() if why is not None}


def test_the_same_is_compared() -> None:
    both = [place(90), place(10, origin="received", granularity="step", handoff_place="none")]
    assert refused(both, both) == {}
    assert refused(both, [place(row.pop("offered") * 7, **row) for row in map(dict, both)]) == {}


def test_another_start_of_the_clock_refuses_what_counts_from_it() -> None:
    found = refused([place()], [place(origin="planned")])
    assert found.keys() == SPANS
    assert set(found.values()) == {"times counted from sent before, and from planned now"}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("token", "step", "deliveries before, and are between engine steps now"),
        ("aggregate", "chunk", "no times that are logged before, and are between deliveries now"),
    ],
)
def test_what_sees_otherwise_refuses_gaps(before: str, now: str, said: str) -> None:
    found = refused([place(granularity=before)], [place(granularity=now)])
    assert found.keys() == GAPS
    assert set(found.values()) == {f"gaps were between {said}"}


def test_a_delivery_is_a_delivery_whether_or_not_a_log_proves_its_token() -> None:
    assert refused([place(granularity="chunk")], [place(granularity="token")]) == {}


def test_another_boundary_refuses_the_handoff() -> None:
    found = refused([place()], [place(handoff_boundary="gateway")])
    assert found == {"handoff_gap": "the handoff was measured by stream before, and by gateway now"}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("gap", "inside_ttft", "the handoff lay in a gap before and lies inside TTFT now"),
        ("inside_ttft", "gap", "the handoff lay inside TTFT before and lies in a gap now"),
    ],
)
def test_a_handoff_that_went_elsewhere_refuses_all(before: str, now: str, said: str) -> None:
    found = refused([place(handoff_place=before)], [place(handoff_place=now)])
    assert found.keys() == set(ALL)
    assert all(why.startswith(said) for why in found.values())


@pytest.mark.parametrize("was", ["none", None])
@pytest.mark.parametrize("place_now", ["gap", "inside_ttft"])
def test_a_handoff_that_is_new_is_a_change_like_any_other(was: str | None, place_now: str) -> None:
    assert refused([place(handoff_place=was)], [place(handoff_place=place_now)]) == {}
    assert refused([place(handoff_place=place_now)], [place(handoff_place=was)]) == {}


@pytest.mark.parametrize(("moved", "refuses"), [(5, False), (6, True)])
def test_a_few_requests_that_moved_are_no_matter(moved: int, refuses: bool) -> None:
    """5 of 100 is the most."""
    now = [place(100 - moved), place(moved, origin="planned")]
    assert (why_not("ttft", [place()], now) is not None) == refuses
    assert (why_not("ttft", now, [place()]) is not None) == refuses


def test_the_largest_moves_are_named() -> None:
    before = [place(50), place(30, origin="planned"), place(20, origin="received")]
    now = [place(10), place(30, origin="planned"), place(60, origin="arrival")]
    assert why_not("e2e", before, now) == "times counted from sent before, and from arrival now"


@pytest.mark.parametrize("rows", [[], [place(0)]])
def test_nothing_moved_from_or_to_nothing(rows: list[dict[str, Any]]) -> None:
    assert refused(rows, [place()]) == {}
    assert refused([place()], rows) == {}
    assert refused(rows, rows) == {}
