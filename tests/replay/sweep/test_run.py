import pytest

from tests.replay.sweep.given import MACHINE, evenly, limit
from tokengap.errors import UsageError
from tokengap.replay import Transport, poisson_ms
from tokengap.replay.sweep import Case, colocated, split, sweep, trial
from tokengap.replay.sweep.flips import flips
from tokengap.replay.sweep.recommend import recommend

ARMS = [
    colocated(2, MACHINE),
    split((1, MACHINE), (1, MACHINE), Transport(kv_bytes_per_token=1, bandwidth_bytes_per_s=2e3)),
]
SEEDS = range(1, 21)
LOAD = evenly(60, 250.0, output_tokens=30)


@pytest.fixture(scope="module")
def case() -> Case:
    """Prompts of 100 ms interrupt steps of 10 ms; a cache takes 50 ms to move."""
    return Case(
        LOAD.arriving(poisson_ms(60, 4.0, seed=3)), [limit("tpot", 20), limit("worst_gap", 80)]
    )


def test_the_same_arguments_give_the_same_numbers_on_any_number_of_cores(case: Case) -> None:
    alone, together = (sweep(ARMS, case, SEEDS, workers=workers) for workers in (1, 2))
    assert [each.trials for each in alone] == [each.trials for each in together]
    assert [len(each.trials) for each in alone] == [20, 20]
    assert alone[0].trials[3] == trial(ARMS[0], case, SEEDS[3])


def test_separation_pays_where_prompts_interrupt(case: Case) -> None:
    """A prompt makes a gap of 110 ms beside it; a handoff one of 60 to 70 ms, once,
    unless two prompts were prefilled together and share the link."""
    found = sweep(ARMS, case, SEEDS)
    both, apart = found
    assert both.interval[1] < apart.interval[0]
    assert apart.percentile_ns("first_gap", 50) == pytest.approx(65e6, abs=5e6)
    assert apart.percentile_ns("worst_later_gap", 99) == pytest.approx(10e6)
    seen, judged = both.attainment_of("tpot"), both.attainment_of("worst_gap")
    assert seen is not None
    assert judged is not None
    assert judged < seen  # the average forgives
    assert recommend(found).advice == "separate"
    assert apart.mean(lambda each: each.transfer_bytes) == 60 * 100


def test_what_flips_it(case: Case) -> None:
    """A slower link, a longer fixed wait, or the average alone: nothing to separate for."""
    found = {
        (flip.knob, flip.setting): flip for flip in flips(sweep(ARMS, case, SEEDS), case, SEEDS)
    }
    assert found["bandwidth", "x0.5"].flips  # 100 ms on the link
    assert not found["bandwidth", "x8"].flips
    assert found["overhead", "100 ms"].flips
    assert found["statistic", "tpot"].advice == "stay colocated"
    assert not found["statistic", "worst_gap"].flips


def test_an_arm_that_diverges_is_not_replayed_again() -> None:
    """Ten prompts of 100 ms a second are what one worker can do; here come twenty."""
    case = Case(evenly(3000, 50.0), [limit("ttft", 1000)])
    (found,) = sweep([colocated(1, MACHINE)], case, SEEDS, workers=1)
    assert len(found.trials) == 3
    assert not found.is_stable


def test_progress_is_told(case: Case) -> None:
    told: list[tuple[int, int]] = []
    sweep(ARMS[:1], case, SEEDS, workers=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3), *((done, 20) for done in range(1, 21))]


def test_an_interval_needs_twenty_drawings(case: Case) -> None:
    with pytest.raises(UsageError, match="20 or more"):
        sweep(ARMS, case, range(19))


def test_users_of_a_closed_loop_think_in_another_order() -> None:
    closed = Case(LOAD.closed_loop(4, 100.0, seed=1), [limit("ttft", 1000)])
    drawn = closed.drawn(5)
    assert drawn.users == 4
    assert sorted(drawn.arrival_ms) == sorted(closed.workload.arrival_ms)
    assert (drawn.arrival_ms != closed.workload.arrival_ms).any()
    (found,) = sweep(ARMS[:1], closed, SEEDS, workers=1)
    assert found.offered == 20 * 60
