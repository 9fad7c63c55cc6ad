from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handoff.worked import MS, handoffs, times_ns, withheld, worked
from tokengap.errors import UsageError
from tokengap.handoff.budget import Handoff, Limits
from tokengap.handoff.lengths import at_length, hidden_from_tokens

BOTH = Limits(worst_gap_ns=20 * MS, tpot_ns=20 * MS)


def test_the_average_of_the_worked_case_hides_the_pause_from_three_tokens_on() -> None:
    """10 + 15.625 / (N - 1) ms: 25.625 at N = 2, 17.8125 at N = 3; the worst gap stays."""
    assert hidden_from_tokens(worked(16), BOTH).value == 3
    two, three = (at_length(worked(16), BOTH, tokens) for tokens in (2, 3))
    assert two.tpot_ns == two.worst_gap_ns == three.worst_gap_ns == 25_625_000
    assert three.tpot_ns == 17_812_500
    assert [two.hidden, three.hidden] == [False, True]


@given(handoffs(), times_ns, times_ns)
@settings(deadline=None, max_examples=150)
def test_the_answer_is_the_first_length_that_hides(handoff: Handoff, gap: int, tpot: int) -> None:
    promised = Limits(worst_gap_ns=gap, tpot_ns=tpot)
    found = hidden_from_tokens(handoff, promised)
    if found.value is None:
        assert found.reason
        assert not any(at_length(handoff, promised, n).hidden for n in (1, 2, 3, 100, 10**9))
        return
    least = int(found.value)
    assert at_length(handoff, promised, least).hidden
    assert at_length(handoff, promised, least + 1).hidden
    assert least == 2 or not at_length(handoff, promised, least - 1).hidden


@pytest.mark.parametrize(
    ("handoff", "tpot_ms", "reason"),
    [
        (worked(4), 20, "nothing to hide"),
        (withheld(worked(16)), 20, "nothing to hide"),
        (worked(16), 10, "the step alone"),
        (replace(worked(16), step_ns=30 * MS), 20, "the step alone"),
        (replace(worked(0), step_ns=30 * MS), 20, "never passes"),
    ],
)
def test_why_no_length_hides(handoff: Handoff, tpot_ms: int, reason: str) -> None:
    promised = Limits(worst_gap_ns=20 * MS, tpot_ns=tpot_ms * MS)
    found = hidden_from_tokens(handoff, promised)
    assert found.value is None
    assert reason in str(found.reason)


def test_a_step_alone_can_be_the_worst_gap() -> None:
    """No pause at all: 30 ms steps pass an average of 30 and fail a gap of 20."""
    promised = Limits(worst_gap_ns=20 * MS, tpot_ns=30 * MS)
    assert hidden_from_tokens(replace(worked(0), step_ns=30 * MS), promised).value == 2


@pytest.mark.parametrize("promised", [Limits(), Limits(tpot_ns=1), Limits(worst_gap_ns=1)])
def test_both_limits_are_needed(promised: Limits) -> None:
    with pytest.raises(UsageError, match="needs a limit on worst_gap and one on tpot"):
        hidden_from_tokens(worked(), promised)


@given(handoffs(), st.integers(2, 1000))
def test_the_average_falls_towards_the_step(handoff: Handoff, tokens: int) -> None:
    now, later = (at_length(handoff, Limits(), n).tpot_ns for n in (tokens, tokens + 1))
    assert now is not None
    assert later is not None
    assert handoff.step_ns <= later <= now
