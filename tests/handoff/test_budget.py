import doctest
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handoff.worked import (
    BANDWIDTHS_GIB,
    LIMITS,
    MIB,
    MS,
    SIZES_MIB,
    handoffs,
    limits,
    withheld,
    worked,
)
from tokengap.errors import UsageError
from tokengap.handoff import budget, fitting, inverse, lengths, links, parameters, region, sizing
from tokengap.handoff.budget import (
    Handoff,
    Limits,
    Promise,
    assumptions,
    colocated_gap_ns,
    judge,
)
from tokengap.handoff.links import FixedOverlap, Link


@pytest.mark.parametrize(
    "module", [budget, fitting, inverse, lengths, links, parameters, region, sizing]
)
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("cache_mib", "transfer_ms", "gap_ms", "verdict"),
    [(4, "3.90625", "13.90625", "met"), (16, "15.625", "25.625", "missed")],
)
def test_worked_case_holds_to_the_last_digit(
    cache_mib: int, transfer_ms: str, gap_ms: str, verdict: str
) -> None:
    case = worked(cache_mib)
    promises = judge(case, LIMITS, output_tokens=3)
    assert case.transfer_ns == Fraction(transfer_ms) * MS
    assert case.first_gap_ns == promises["worst_gap"].value_ns == Fraction(gap_ms) * MS
    assert promises["worst_gap"].verdict == verdict
    assert promises["worst_gap"].headroom_ns == (20 - Fraction(gap_ms)) * MS
    assert promises["ttft"].value_ns == 40 * MS
    assert promises["ttft"].verdict == "met"


@pytest.mark.parametrize("bandwidth", BANDWIDTHS_GIB)
@pytest.mark.parametrize("size", SIZES_MIB)
def test_every_cell_of_the_table(size: int, bandwidth: Fraction) -> None:
    # size MiB at b GiB/s take size / (1024 b) s = size * 1000/1024 / b ms, after a step of 10 ms
    gap = judge(worked(size, bandwidth), LIMITS, output_tokens=2)["worst_gap"]
    assert gap.value_ns == (10 + Fraction(1000, 1024) * size / bandwidth) * MS
    assert gap.verdict == ("met" if size <= Fraction("10.24") * bandwidth else "missed")


def test_average_hides_the_pause_from_three_tokens_on() -> None:
    # 10 + 15.625 / (N - 1) ms: 25.625 at N = 2, 17.8125 at N = 3, against 20 ms
    twenty = Limits(worst_gap_ns=20 * MS, tpot_ns=20 * MS)
    found = {n: judge(worked(), twenty, n) for n in range(2, 200)}
    assert found[3]["tpot"].value_ns == Fraction("17.8125") * MS
    assert [n for n in found if found[n]["tpot"].verdict == "missed"] == [2]
    assert {found[n]["worst_gap"].value_ns for n in found} == {Fraction("25.625") * MS}


def test_withholding_moves_the_pause_into_ttft() -> None:
    promises = judge(withheld(worked()), LIMITS, output_tokens=3)
    assert promises["ttft"].value_ns == (40 + Fraction("15.625")) * MS
    assert promises["worst_gap"].value_ns == promises["tpot"].value_ns == 10 * MS


@given(handoffs(), st.integers(2, 1000))
@settings(deadline=None)
def test_both_policies_take_as_long_to_the_last_token(handoff: Handoff, tokens: int) -> None:
    def elapsed_ns(case: Handoff) -> Fraction:
        promises = judge(case, Limits(), tokens)
        ttft_ns, tpot_ns = promises["ttft"].value_ns, promises["tpot"].value_ns
        assert ttft_ns is not None
        assert tpot_ns is not None
        return ttft_ns + tpot_ns * (tokens - 1)

    steps_ns = (tokens - 1) * handoff.step_ns
    at_once = replace(handoff, withheld=False)
    assert elapsed_ns(at_once) == elapsed_ns(withheld(handoff))
    assert elapsed_ns(at_once) == handoff.prefill_ns + handoff.pause_ns + steps_ns


@given(handoffs(), limits, st.integers(1, 50))
@settings(deadline=None)
def test_worst_gap_is_never_below_the_average(
    handoff: Handoff, promised: Limits, tokens: int
) -> None:
    promises = judge(handoff, promised, tokens)
    worst, average = promises["worst_gap"].value_ns, promises["tpot"].value_ns
    if worst is None or average is None:
        assert tokens == 1
    else:
        assert worst >= average >= handoff.step_ns
    for promise in promises.values():
        if promise.verdict in ("met", "missed"):
            assert promise.headroom_ns is not None
            assert (promise.headroom_ns >= 0) == (promise.verdict == "met")


def test_an_overlap_hides_no_more_than_the_transfer() -> None:
    hidden = replace(worked(4), overlap=FixedOverlap(50 * MS), overhead_ns=2 * MS)
    assert hidden.overlap_ns == Fraction("3.90625") * MS
    assert hidden.first_gap_ns == 12 * MS


def test_a_single_token_has_no_gap_to_judge() -> None:
    promises = judge(worked(), replace(LIMITS, tpot_ns=MS), output_tokens=1)
    verdicts = {name: promise.verdict for name, promise in promises.items()}
    assert verdicts == {"ttft": "met", "worst_gap": "not_applicable", "tpot": "not_applicable"}
    assert promises["tpot"].headroom_ns is None


def test_a_limit_is_inclusive_and_none_is_no_verdict() -> None:
    assert Promise("ttft", Fraction(5), 5).verdict == "met"
    assert Promise("ttft", Fraction(5) + Fraction(1, 10**9), 5).verdict == "missed"
    assert Promise("ttft", Fraction(5), None).verdict is None


def test_a_serialised_worker_makes_a_gap_of_50_ms() -> None:
    assert colocated_gap_ns(40 * MS, 10 * MS) == 50 * MS


def test_assumptions_say_what_is_shared() -> None:
    alone = assumptions(worked())
    assert any("no contention" in line for line in alone)
    shared = assumptions(replace(worked(), link=Link(MIB, transfers=3)))
    assert any("3 equal transfers share" in line for line in shared)
    assert any("no queueing" in line for line in alone)


@pytest.mark.parametrize("field", ["prefill_ns", "step_ns", "cache_bytes", "overhead_ns"])
def test_no_term_is_negative(field: str) -> None:
    with pytest.raises(UsageError, match="0 or more"):
        replace(worked(), **{field: -1})  # type: ignore[arg-type]


def test_a_response_has_a_token() -> None:
    with pytest.raises(UsageError, match="1 or more"):
        judge(worked(), LIMITS, output_tokens=0)
