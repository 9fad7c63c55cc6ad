"""Cost of work, from steps and sums of known cost."""

import numpy as np
import pytest

from tokengap.baseline import Decodes, Jitter, PrefillCost, Prefills, ServiceFit, StepCost
from tokengap.baseline import fit_service as fit_service_with

PREFILL, STEP = PrefillCost(20e6, 1e5, 80), StepCost(7e6, 640, 126_000)


def requests(count: int, seed: int = 1) -> Decodes:
    """Requests of 40 to 200 steps, beside 0 to 15 others that hold 100 to 3,000 tokens each."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(40, 200, count).astype(np.float64)
    running = rng.integers(1, 16, count) * steps
    held = running * rng.integers(100, 3000, count)
    time_ns = STEP.fixed_ns * steps + STEP.token_ns * held + STEP.request_ns * running
    return Decodes(time_ns, steps, held, running)


def prompts(count: int, *, beside: bool, seed: int = 2) -> Prefills:
    """Single prompts of 50 to 5,000 tokens; beside: with 8 requests that hold 1,000 tokens each.

    Such a step takes what decoding adds as well, and half a step had to end before it.
    """
    rng = np.random.default_rng(seed)
    tokens = rng.integers(50, 5000, count).astype(np.float64)
    running, held = np.full(count, 8.0 * beside), np.full(count, 8000.0 * beside)
    added_ns = STEP.token_ns * held + STEP.request_ns * running
    waited_ns = (STEP.fixed_ns + added_ns) / 2 * beside
    alone_ns = PREFILL.fixed_ns + PREFILL.token_ns * tokens + PREFILL.square_ns * tokens**2
    return Prefills(
        alone_ns + added_ns + waited_ns, tokens, tokens**2, running, held, np.zeros(count)
    )


EVEN = Jitter(np.array([1.0]), np.array([1.0]))


def fit_service(prefills: Prefills, decodes: Decodes) -> ServiceFit:
    return fit_service_with(prefills, decodes, EVEN)


def costs(found: ServiceFit) -> list[float]:
    assert found.prefill is not None
    assert found.decode is not None
    prefill = (found.prefill.fixed_ns, found.prefill.token_ns, found.prefill.square_ns)
    return [*prefill, found.decode.fixed_ns, found.decode.token_ns, found.decode.request_ns]


@pytest.mark.parametrize("beside", [False, True])
def test_costs_are_found_again(beside: bool) -> None:
    found = fit_service(prompts(100, beside=beside), requests(100))
    assert costs(found) == pytest.approx([20e6, 1e5, 80, 7e6, 640, 126_000], rel=1e-4)
    assert list(found.unidentified) == []
    assert found.prefill is not None
    assert found.decode is not None
    assert found.prefill.ns(1000, 1e6) == pytest.approx(200e6, rel=1e-4)
    assert found.decode.ns(10, 10_000) == pytest.approx(7e6 + 6.4e6 + 1.26e6, rel=1e-4)


def test_bursts_of_delivery_do_not_matter() -> None:
    """Sums hold what single gaps lose: each request takes up to a step more or less."""
    clean = requests(300)
    noise = np.random.default_rng(4).uniform(-1, 1, 300) * STEP.fixed_ns
    noisy = Decodes(clean.time_ns + noise, clean.steps, clean.held_tokens, clean.running)
    found = fit_service(prompts(100, beside=False), noisy)
    assert found.decode is not None
    assert found.decode.fixed_ns == pytest.approx(7e6, rel=0.03)
    assert found.decode.token_ns == pytest.approx(640, rel=0.03)


def test_a_request_alone_tells_nothing_of_batches() -> None:
    """One at a time, all of 500 tokens: what is fixed and what is per request cannot be told."""
    steps = np.arange(20.0, 60.0)
    alone = Decodes(steps * 8e6, steps, steps * 500, steps)
    found = fit_service(prompts(50, beside=False), alone)
    assert found.decode is not None
    assert found.decode.ns(1, 500) == pytest.approx(8e6)
    assert sum("decode step" in why for why in found.unidentified) == 2


def test_ranges_that_were_seen_bound_predictions() -> None:
    found = fit_service(prompts(100, beside=False), requests(100))
    low, high = found.seen.prompt_tokens
    assert 50 <= low < 300
    assert 4500 < high < 5000
    assert found.seen.running == (1.0, 15.0)
    assert not list(found.seen.extrapolated(prompt_tokens=1.5 * high, running=22))
    far = list(found.seen.extrapolated(prompt_tokens=1.6 * high, running=23))
    assert far[0].startswith("prompt_tokens")
    assert far[1:] == ["running 23 is over 1.5 times the largest seen, 15"]


def test_few_requests_give_no_costs() -> None:
    found = fit_service(prompts(3, beside=False), requests(3))
    assert (found.prefill, found.decode) == (None, None)
    assert len(list(found.unidentified)) == 6
    short = requests(50)
    bursts = Decodes(short.time_ns, np.full(50, 3.0), short.held_tokens, short.running)
    assert fit_service(prompts(50, beside=False), bursts).decode is None


def test_jitter_is_drawn_as_often_as_it_was_seen() -> None:
    jitter = Jitter(np.array([0.5, 1.0, 2.0]), np.array([20.0, 70.0, 10.0]))
    drawn = jitter.sample(10_000, seed=1)
    assert [(drawn == ratio).mean() for ratio in (0.5, 1, 2)] == pytest.approx(
        [0.2, 0.7, 0.1], abs=0.02
    )
    assert (drawn == jitter.sample(10_000, seed=1)).all()
    assert [jitter.quantile(share) for share in (0.2, 0.21, 0.9, 1)] == [0.5, 1, 1, 2]
    nothing = Jitter(np.array([]), np.array([]))
    assert nothing.quantile(0.5) is None
    assert nothing.sample(3, seed=1).tolist() == [1, 1, 1]
