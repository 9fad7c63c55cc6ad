"""What is said of a run beside the runs of a baseline."""

from tests.findings.given import said
from tokengap.findings.got_worse import got_worse
from tokengap.weekly.against import Against
from tokengap.weekly.model import CANNOT_TELL, NOT_COMPARABLE, WORSE, Change

SAME = Change(CANNOT_TELL, "no more than chance at equal mix")
WORSE_GAP = Change(WORSE, "kept by 2 points less at equal mix", -0.02, -0.02, -0.03, -0.01)
OTHER = Change(NOT_COMPARABLE, "the limit was 400 ms")


def test_without_a_baseline_nothing_is_said() -> None:
    assert said(got_worse) == []


def test_what_got_worse_is_named_with_its_interval() -> None:
    against = Against("main.json", 3, {"tpot": SAME, "worst_gap": WORSE_GAP})
    (finding,) = said(got_worse, against=against)
    assert finding.level == "stall"
    assert finding.says == (
        "Worse than the 3 runs of main.json, worst gap: kept by 2 points less at equal mix "
        "(share kept -2 points, -3 to -1)."
    )


def test_that_nothing_did_says_what_it_rests_on() -> None:
    (finding,) = said(got_worse, against=Against("main.json", 1, {"tpot": SAME}))
    assert (finding.level, finding.says) == (
        "note",
        "Nothing is worse than in the 1 run of main.json.",
    )
    assert finding.advice is not None
    assert "--save-baseline" in finding.advice
    (finding,) = said(got_worse, against=Against("main.json", 3, {"tpot": SAME}))
    assert finding.advice is None


def test_what_cannot_be_compared_is_not_called_fine() -> None:
    (finding,) = said(got_worse, against=Against("main.json", 3, {"handoff_gap": OTHER}))
    assert finding.level == "unknown"
    assert finding.says == (
        "Not comparable with the 3 runs of main.json, handoff gap, stream: the limit was 400 ms."
    )
