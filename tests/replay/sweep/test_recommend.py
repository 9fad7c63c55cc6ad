from dataclasses import replace

import pytest

from tests.replay.sweep.given import arm, swept, trial
from tokengap.replay.sweep import Swept, recommend
from tokengap.replay.sweep.recommend import beats, ranked

NOISE = [-2, -1, 0, 1, 2] * 4


def noisy(kind: str, good: int, signs: int = 1) -> Swept:
    """20 drawings around so many good requests; the same noise for all, or the opposite."""
    return swept(arm(kind), [good + signs * noise for noise in NOISE])


@pytest.mark.parametrize(
    ("colocated", "chunked", "split", "advice"),
    [
        (90, 90, 90, "stay colocated"),
        (90, 91, 94, "separate"),
        (60, 90, 90, "chunk first"),
        (60, 91, 90, "chunk first"),
        (60, 80, 90, "separate"),
    ],
)
def test_the_simplest_arm_that_nothing_beats(
    colocated: int, chunked: int, split: int, advice: str
) -> None:
    """Noise that all arms share cancels, so one request of 100 in every drawing is a difference."""
    found = [noisy("colocated", colocated), noisy("chunked", chunked), noisy("split", split)]
    assert recommend(found).advice == advice


def test_a_difference_within_the_noise_beats_nothing() -> None:
    """Two more on average, and in some drawings two less: nothing to build a second pool for."""
    one, other = noisy("split", 92), noisy("colocated", 90, signs=-1)
    assert not beats(one, other)
    found = recommend([one, other])
    assert found.advice == "stay colocated"
    assert "not better beyond the noise" in found.why


def test_an_unstable_arm_is_never_recommended() -> None:
    broken = Swept(arm("split"), [trial(100, is_stable=False)])
    behind = Swept(arm("chunked"), [trial(100, grows="prefill")] * 20)
    found = recommend([noisy("colocated", 10), broken, behind])
    assert found.arm == "colocated"
    assert not behind.is_stable
    assert behind.pressed == "prefill"
    assert ranked([broken, behind, noisy("colocated", 10)])[0].arm.kind == "colocated"


def test_without_a_good_request_no_arm_holds() -> None:
    found = recommend([noisy("colocated", 2, signs=0), swept(arm("split"), [0] * 20)])
    assert found.arm == "colocated"
    none = recommend([swept(arm("split"), [0] * 20)])
    assert (none.arm, none.advice) == (None, "no arm holds")


def test_a_queue_behind_in_few_drawings_is_noise() -> None:
    few = Swept(arm("split"), [trial(90)] * 11 + [trial(90, grows="decode")] * 9)
    assert few.is_stable
    most = Swept(arm("split"), [trial(90)] * 9 + [trial(90, grows="decode")] * 11)
    assert not most.is_stable


def test_the_interval_leaves_out_a_fortieth_at_either_side() -> None:
    """Of 41 drawings from 10 to 50 good, the second and the second to last."""
    each = swept(arm("split"), range(10, 51))
    assert each.interval == pytest.approx((0.11, 0.49))
    assert each.attainment == pytest.approx(0.30)
    assert replace(each, trials=[trial(1, offered=0)]).attainment == 0
