import numpy as np
import numpy.typing as npt
import pytest

from tokengap.handoff.fitting import LEAST_HANDOFFS, Estimate, Fit, fit

OVERHEAD_NS, BYTES_PER_S = 5e6, 2.5e9
NOISE = 0.2
Numbers = npt.NDArray[np.float64]


def exact_ns(sizes: Numbers) -> Numbers:
    return OVERHEAD_NS + sizes / BYTES_PER_S * 1e9


def sizes_of(random: np.random.Generator, count: int) -> Numbers:
    """Caches of prompts: spread over two powers of ten around 64 MB."""
    return random.lognormal(np.log(64e6), 0.8, count)


def covers(found: Estimate, true: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= true <= found.high


def noisy(random: np.random.Generator, count: int, kind: str) -> Fit:
    sizes = sizes_of(random, count)
    times = exact_ns(sizes)
    if kind == "relative":
        return fit(sizes, times * (1 + NOISE * random.standard_normal(count)))
    if kind == "heavy":  # Student's t with three degrees of freedom has a variance of 3
        return fit(sizes, times * (1 + NOISE * random.standard_t(3, count) / np.sqrt(3)))
    return fit(sizes, times + NOISE * np.median(times) * random.standard_normal(count))


@pytest.mark.parametrize("kind", ["relative", "absolute", "heavy"])
def test_intervals_cover_the_truth_as_often_as_they_say(kind: str) -> None:
    """95 of 100 are expected; fewer than 90 have a chance of 1 in 100."""
    found = [noisy(np.random.default_rng(seed), 200, kind) for seed in range(100)]
    assert sum(covers(each.overhead_ns, OVERHEAD_NS) for each in found) >= 90
    assert sum(covers(each.bandwidth_bytes_per_s, BYTES_PER_S) for each in found) >= 90


def test_a_line_without_noise_is_found() -> None:
    sizes = np.linspace(1e6, 1e9, LEAST_HANDOFFS)
    found = fit(sizes, exact_ns(sizes))
    assert found.overhead_ns.value == pytest.approx(OVERHEAD_NS, rel=1e-6)
    assert found.bandwidth_bytes_per_s.value == pytest.approx(BYTES_PER_S, rel=1e-9)
    assert found.explained_share == pytest.approx(1)
    assert found.time_ns(2.5e6) == pytest.approx(6e6, rel=1e-6)  # 5 ms and 1 ms


def test_a_few_handoffs_that_waited_do_not_move_the_line() -> None:
    """One of twenty waits a second longer: least squares alone would say 50 ms of overhead."""
    random = np.random.default_rng(1)
    sizes = sizes_of(random, 400)
    times = exact_ns(sizes) * (1 + 0.02 * random.standard_normal(400))
    times[::20] += 1e9
    found = fit(sizes, times)
    assert found.overhead_ns.value == pytest.approx(OVERHEAD_NS, rel=0.15)
    assert found.bandwidth_bytes_per_s.value == pytest.approx(BYTES_PER_S, rel=0.05)
    plain = np.polyfit(sizes, times, 1)[1]
    assert plain > 5 * OVERHEAD_NS
    assert found.explained_share is not None
    assert found.explained_share < 0.1  # what waited outweighs what bytes explain


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        (np.linspace(1e6, 1e9, LEAST_HANDOFFS - 1), f"{LEAST_HANDOFFS} are needed"),
        (np.repeat([1e6, 2e6], 50), "2 different sizes"),
        (np.linspace(1e8, 1.1e8, 100), "too uniform"),
    ],
)
def test_too_few_or_too_uniform_sizes_cannot_tell(sizes: Numbers, reason: str) -> None:
    found = fit(sizes, exact_ns(sizes))
    assert reason in str(found.cannot_tell)
    assert found.overhead_ns.value is None
    assert found.time_ns(1e6) is None


def test_times_that_do_not_grow_with_bytes_cannot_tell() -> None:
    random = np.random.default_rng(2)
    found = fit(sizes_of(random, 300), random.exponential(50e6, 300))
    assert "does not grow with bytes" in str(found.cannot_tell)
    assert found.explained_share is not None
    assert found.explained_share < 0.05
    assert found.residual_spread_ns is not None


def test_equal_times_explain_nothing() -> None:
    found = fit(np.linspace(1e6, 1e9, 50), np.full(50, 7e6))
    assert found.explained_share is None
    assert found.cannot_tell is not None
