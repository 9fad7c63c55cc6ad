"""Numbers an audit derives itself."""

import pytest

from tests.findings.given import LIMITS, audit


def test_goodput_is_good_requests_over_the_window() -> None:
    found = audit(
        attainment={"good": 3, "offered": 5},
        window={"start_ns": 2 * 10**9, "end_ns": 4 * 10**9, "rule": "by_start", "clocks": 1},
    )
    # 3 requests in 2 s
    assert found.goodput_per_s == pytest.approx(1.5)


@pytest.mark.parametrize(("start", "end"), [(None, 1), (1, None), (5, 5), (6, 5)])
def test_no_window_no_goodput(start: int | None, end: int | None) -> None:
    window = {"start_ns": start, "end_ns": end, "rule": "by_start", "clocks": 2}
    assert audit(window=window).goodput_per_s is None


def test_no_limits_no_goodput() -> None:
    assert audit(objectives=()).goodput_per_s is None


def test_stalls_are_told_apart() -> None:
    rows = [{"stall": "hidden"}, {"stall": "possible"}, {"stall": "hidden"}]
    found = audit(stalls=rows)
    assert len(found.hidden) == 2
    assert len(found.possible) == 1


def test_a_hidden_stall_needs_both_limits() -> None:
    assert audit().judges_stalls
    assert not audit(objectives=LIMITS[:1]).judges_stalls
