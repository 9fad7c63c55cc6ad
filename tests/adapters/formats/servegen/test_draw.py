"""What is drawn has the rate, the bunching and the lengths that it was drawn from."""

import math

import numpy as np
import pytest

from tokengap.adapters.formats.servegen.draw import GAMMA, WEIBULL, Distribution, Lengths, Window
from tokengap.adapters.shared.lines import LineError

SECOND = 10**9


def window(rate: float, pattern: str = GAMMA, shape: float = 1.0, start_s: int = 600) -> Window:
    return Window(start_s * SECOND, 600 * SECOND, rate, pattern, shape)


def cv(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(np.std(values) / np.mean(values))


def test_a_distribution_is_read_from_its_text() -> None:
    found = Distribution.parse("{224: 0.25, 226: 0.75}")
    assert found is not None
    assert found.values.tolist() == [224, 226]
    assert found.cumulated.tolist() == [0.25, 1.0]
    assert Distribution.parse("{}") is None


@pytest.mark.parametrize(
    "text",
    ["{224: 0.5, 225}", "{224: x}", "{1.5: 1}", "{-1: 1}", "{1: -1}", "{1: 0}", "[]", "{1: nan}"],
)
def test_what_is_no_distribution_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Distribution.parse(text)


def test_lengths_have_the_shares_given() -> None:
    found = Distribution.parse("{10: 1, 20: 3}")
    assert found is not None
    drawn = found.draw(np.random.RandomState(0), 40_000)
    assert set(drawn.tolist()) == {10, 20}
    assert abs(float(np.mean(drawn == 20)) - 0.75) < 0.01  # standard error 0.002


def test_as_many_requests_as_the_rate_says_within_the_window() -> None:
    chosen = window(1.25)
    arrivals = chosen.arrivals_ns(chosen.chance(7))
    assert len(arrivals) == 750  # 1.25 / s for 600 s
    assert np.all(np.diff(arrivals) >= 0)
    assert arrivals[0] >= 600 * SECOND
    assert arrivals[-1] <= 1200 * SECOND


@pytest.mark.parametrize(
    ("pattern", "shape", "expected"),
    [
        (GAMMA, 0.25, 2.0),  # 1 / sqrt(shape)
        (WEIBULL, 0.5, math.sqrt(math.gamma(5) / math.gamma(3) ** 2 - 1)),
    ],
)
def test_intervals_vary_as_their_shape_says(pattern: str, shape: float, expected: float) -> None:
    chosen = window(100, pattern, shape)  # 60,000 intervals
    intervals = np.diff(chosen.arrivals_ns(chosen.chance(7))).astype(np.float64)
    assert abs(cv(intervals) - expected) < 0.1


def test_the_same_client_and_window_give_the_same_requests() -> None:
    first, second = (window(1).arrivals_ns(window(1).chance(7)).tolist() for _ in range(2))
    assert first == second
    assert first != window(1).arrivals_ns(window(1).chance(8)).tolist()
    later = window(1, start_s=1200)
    assert [t - 600 * SECOND for t in later.arrivals_ns(later.chance(7)).tolist()] != first


def test_a_shape_that_gives_no_intervals_is_said() -> None:
    chosen = window(0.005, GAMMA, 1e-9)
    with pytest.raises(LineError, match="all intervals"):
        chosen.arrivals_ns(chosen.chance(7))


def test_images_are_part_of_the_prompt() -> None:
    found = Lengths.parse({
        "text_tokens": "{100: 1}", "output_tokens": "{7: 1}",
        "image_count": "{2: 1}", "image_tokens": "{30: 1}",
        "audio_count": "{0: 1}", "audio_tokens": "{0: 1}",
    })  # fmt: skip
    assert found is not None
    prompt, output = found.draw(np.random.RandomState(0), 3)
    assert prompt.tolist() == [160, 160, 160]
    assert output.tolist() == [7, 7, 7]


def test_a_period_without_requests_has_no_lengths() -> None:
    assert Lengths.parse({"input_tokens": "{}", "output_tokens": "{}"}) is None
    with pytest.raises(ValueError, match="of answers"):
        Lengths.parse({"input_tokens": "{1: 1}", "output_tokens": "{}"})
