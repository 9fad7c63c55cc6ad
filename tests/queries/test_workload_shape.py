"""Lengths, arrivals and concurrency, against counting in plain Python and Polars."""

import random
from collections import Counter
from itertools import pairwise
from statistics import mean, stdev, variance
from typing import Any, Final

import polars as pl
import pytest

from tests.queries.given import MS, Library, Row, clock, stream

S: Final = 1_000_000_000


def answered(name: str, prompt: int | None, output: int | None, **facts: Any) -> Row:
    return stream(name, [5], prompt_tokens=prompt, **{"output_tokens": output} | facts)


def arrived(name: str, sent_ns: int, lasts_ns: int = MS, **facts: Any) -> Row:
    times = [sent_ns + lasts_ns // 2, sent_ns + lasts_ns]
    return stream(name, times, sent_ns=sent_ns, stream_close_ns=times[-1], **facts)


def test_lengths_of_each_side_and_together(library: Library) -> None:
    """2^(k/2): 11.3 is step 7's start, 16 is step 8's, 22.6 step 9's."""
    library.bind([
        answered("a", 11, 1), answered("b", 12, 1), answered("c", 16, 3), answered("d", 22, 3),
        answered("e", 23, 0), answered("f", 0, 2), answered("g", None, 7),
        answered("h", 99, 99, status="failed"),
    ])  # fmt: skip
    cells = {
        (row["prompt_step"], row["output_step"]): row["requests"]
        for row in library.rows("length_grid")
    }
    # log2(3) = 1.58, so answers of 3 tokens are in step 3; of 2 in step 2; of 1 in step 0.
    assert cells == {(6, 0): 1, (7, 0): 1, (8, 3): 2, (9, -1): 1, (-1, 2): 1}
    prompt, output = library.rows("length_percentiles")
    assert (prompt["side"], prompt["n"], prompt["max_tokens"]) == ("prompt", 6, 23)
    assert (prompt["mean_tokens"], prompt["p50_tokens"]) == (pytest.approx(84 / 6), 14)
    assert (output["n"], output["p50_tokens"], output["max_tokens"]) == (7, 2, 7)
    told = library.row("length_dependence")
    assert (told["requests"], told["left_out"]) == (6, 1)


@pytest.mark.parametrize("seed", range(2))
def test_rank_correlation_is_that_of_polars(library: Library, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 (any numbers will do)
    pairs = [(rng.randrange(40), rng.randrange(9)) for _ in range(200)]
    pairs = [(prompt, output + prompt // 5) for prompt, output in pairs]
    library.bind(answered(str(n), *pair) for n, pair in enumerate(pairs))
    frame = pl.DataFrame(pairs, schema=["prompt", "output"], orient="row")
    expected = frame.select(pl.corr("prompt", "output", method="spearman")).item()
    found = library.row("length_dependence")["rank_correlation"]
    assert found == pytest.approx(expected, abs=1e-12)
    grid = library.rows("length_grid")
    assert sum(row["prompt_tokens"] for row in grid) == frame["prompt"].sum()
    assert sum(row["output_tokens"] for row in grid) == frame["output"].sum()


def test_equal_lengths_have_no_correlation(library: Library) -> None:
    library.bind([answered("a", 5, 1), answered("b", 5, 2)])
    assert library.row("length_dependence")["rank_correlation"] is None
    library.bind([])
    assert library.row("length_dependence") == {
        "requests": 0, "left_out": 0, "rank_correlation": None,
    }  # fmt: skip


def test_arrivals_through_windows(library: Library) -> None:
    """20 arrivals over 100 s, in pairs 1 ms apart every 10 s, and one more at the end.

    The mean time between is 5 s, a tenth of the span 10 s. In 10 windows of 10 s there are 2 each:
    no variance. In 20 of 5 s there are 2 or 0: mean 1, sample variance 20 / 19.
    """
    at = [s * 10 * S + late for s in range(10) for late in (0, MS)] + [100 * S]
    library.bind(arrived(str(n), sent) for n, sent in enumerate(at))
    five, ten = library.rows("arrival_bursts")
    assert (five["window_ns"], five["windows"], five["mean"]) == (5 * S, 20, 1)
    assert (five["peak"], five["peak_to_mean"]) == (2, 2)
    assert five["dispersion"] == pytest.approx(20 / 19)
    assert (ten["window_ns"], ten["windows"], ten["mean"], ten["dispersion"]) == (10 * S, 10, 2, 0)
    gaps = [after - before for before, after in pairwise(at)]
    found = library.row("arrival_gaps")
    assert (found["requests"], found["gaps"], found["span_ns"]) == (21, 20, 100 * S)
    assert found["cv"] == pytest.approx(stdev(gaps) / mean(gaps))
    assert found["gamma_shape"] == pytest.approx((mean(gaps) / stdev(gaps)) ** 2)


def test_arrivals_against_counting(library: Library) -> None:
    """Two clocks that nothing relates: windows start with each one's first arrival."""
    rng = random.Random(3)  # noqa: S311 (any numbers will do)
    came = {name: sorted(rng.randrange(60 * S) for _ in range(150)) for name in ("c", "d")}
    library.bind(
        arrived(f"{name}{n}", at, clock=name)
        for name, times in came.items()
        for n, at in enumerate(times)
    )
    rows = library.rows("arrival_bursts")
    assert [row["window_ns"] / S for row in rows] == [0.5, 1, 2, 5]
    for row in rows:
        counts: list[int] = []
        for times in came.values():
            full = (times[-1] - times[0]) // row["window_ns"]
            seen = Counter((at - times[0]) // row["window_ns"] for at in times)
            counts += [seen[number] for number in range(full)]
        assert (row["windows"], row["peak"]) == (len(counts), max(counts))
        assert row["mean"] == pytest.approx(mean(counts))
        assert row["dispersion"] == pytest.approx(variance(counts) / mean(counts))
    gaps = [after - before for times in came.values() for before, after in pairwise(times)]
    found = library.row("arrival_gaps")
    assert (found["clocks"], found["gaps"], found["mean_ns"]) == (2, 298, mean(gaps))


def test_related_clocks_are_one(library: Library) -> None:
    """d runs 1 s ahead of c: both arrivals were at once."""
    streams = [arrived("a", 0), arrived("b", S, clock="d", trace="u")]
    library.bind(streams, clocks=[clock("d", "c", S)])
    found = library.row("arrival_gaps")
    assert (found["clocks"], found["gaps"], found["mean_ns"], found["cv"]) == (1, 1, 0, None)


def test_choices_and_attempts_are_one_arrival(library: Library) -> None:
    library.bind([
        arrived("a", 0), arrived("a", 0, choice=1), arrived("b", 5 * MS),
        arrived("c", 3 * MS), arrived("c", 9 * MS, attempt=1),
    ])  # fmt: skip
    assert library.row("arrival_gaps")["requests"] == 3


def test_concurrency_is_time_at_each_count(library: Library) -> None:
    """a: 0 to 40 ms, first token at 20; b: 10 to 30, first at 20; c has no origin, 20 to 60 ms.

    In the system: one from 0 to 10 and 30 to 40, two from 10 to 30, and nobody from then on whose
    origin is known. Running: nobody until 20, all three to 30, two to 40, one to 60.
    """
    late = stream("c", [20 * MS, 60 * MS], sent_ns=None)
    library.bind([arrived("a", 0, 40 * MS), arrived("b", 10 * MS, 20 * MS), late])
    assert [tuple(row.values()) for row in library.rows("concurrency")] == [
        (0, 20 * MS, 20 * MS), (1, 20 * MS, 20 * MS), (2, 20 * MS, 10 * MS), (3, 0, 10 * MS),
    ]  # fmt: skip
