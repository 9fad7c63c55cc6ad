"""A model fitted on some runs of a real engine, against other runs of it.

The engine prefills whole prompts in steps that decode as well: `chunked` with its budget of 8,192
tokens. An error counts if it is over 20 % and over what two runs of the same load differ by.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tokengap.findings.baseline import STORED
from tokengap.library import read_catalogue
from tokengap.library.inputs import opened
from tokengap.replay import Chunked, Outcome, Pools, ServiceModel, Workload, replay
from tokengap.replay.sweep.score import Flags
from tokengap.replay.workload import Floats, Ints
from tokengap.report.replay.fitted import Fitted, fitted
from tokengap.report.replay.logged import arrivals

pytestmark = pytest.mark.xdist_group("reality")
"""One process makes what all of them look at."""

RUNS: Final = Path(__file__).parents[3] / "sample_traces" / "vllm-bench" / "calibrated"
ENGINE: Final = Pools.colocated(1, scheduler=Chunked(8192))
PERCENTILES: Final = (50, 90, 99)
STALL_NS: Final = 500e6
TOLERANCE: Final = 0.2
POINTS: Final = 0.08
_SEEN: Final = """
SELECT origin_ns, ttft_ns::DOUBLE AS ttft_ns, worst_gap_ns::DOUBLE AS worst_gap_ns
FROM _judged
ORDER BY origin_ns
"""


@dataclass(frozen=True)
class Run:
    """What one file holds, in order of arrival."""

    load: Workload
    origin_ns: Ints
    ttft_ns: Floats
    worst_gap_ns: Floats
    gaps_ns: Floats


def read(name: str) -> Run:
    paths = [str(RUNS / f"{name}.json.gz")]
    with opened(paths, read_catalogue(), print, only="_judged") as inputs:
        seen = inputs.con.sql(_SEEN).fetchnumpy()
        gaps = inputs.con.sql("SELECT unnest(gaps_ns)::DOUBLE AS gap FROM streams").fetchnumpy()
        return Run(arrivals(inputs.con), **seen, gaps_ns=gaps["gap"])


@pytest.fixture(scope="module")
def fit() -> Fitted:
    """Fitted on the `a` runs alone."""
    paths = sorted(str(path) for path in RUNS.glob("a_*.json.gz"))
    catalogue = read_catalogue().storing(STORED)
    with opened(paths, catalogue, print) as inputs:
        return fitted(inputs.con, gpus=1, mixed="max")


@pytest.fixture(scope="module")
def model(fit: Fitted) -> ServiceModel:
    return fit.machine.model


@pytest.fixture(scope="module")
def poisson() -> list[Run]:
    return [read(f"b_poisson50_mono_r{number}") for number in (1, 2)]


def served(load: Workload, model: ServiceModel) -> Outcome:
    return replay(load, ENGINE, model, to_the_end=True)


def errors(seen: Floats, replayed: Floats, again: Floats) -> Iterator[tuple[int, float, float]]:
    """Percentile, and errors of the replay and of a repeated run as shares of what was seen."""
    for percentile in PERCENTILES:
        logged = np.percentile(seen, percentile)
        error, noise = (
            float(np.percentile(values, percentile) / logged - 1) for values in (replayed, again)
        )
        yield percentile, error, abs(noise)


def test_the_fit_knows_every_coefficient(fit: Fitted) -> None:
    assert list(fit.service.unidentified) == []


@pytest.mark.parametrize(("run", "other"), [(0, 1), (1, 0)])
def test_a_poisson_load_is_predicted(
    poisson: list[Run], model: ServiceModel, run: int, other: int
) -> None:
    seen, again = poisson[run], poisson[other]
    outcome = served(seen.load, model)
    gaps = np.concatenate([chunk.gaps_ns for chunk in outcome.chunks()]).astype(np.float64)
    compared = [
        *errors(seen.ttft_ns, outcome.ttft_ns, again.ttft_ns),
        *errors(seen.gaps_ns, gaps, again.gaps_ns),
    ]
    assert [each for each in compared if abs(each[1]) > max(TOLERANCE, each[2])] == []
    stalled, predicted = (
        float(np.mean(worst > STALL_NS))
        for worst in (seen.worst_gap_ns, outcome.latency.worst_gap_ns)
    )
    assert abs(predicted - stalled) <= POINTS + 1e-9


@dataclass(frozen=True)
class Pair:
    """60 short requests and 7 long prompts at one server, merged by the times they were sent."""

    load: Workload
    worst_gap_ns: Floats
    is_short: Flags
    short: Run


def pair(number: int) -> Pair:
    runs = [read(f"d_{kind}_mono_r{number}") for kind in ("victims", "long")]
    sent_ns = np.concatenate([run.origin_ns for run in runs]).astype(np.int64)
    order = np.argsort(sent_ns, kind="stable")
    prompts, answers, worst_ns = (
        np.concatenate(columns)[order]
        for columns in zip(
            *((run.load.prompt_tokens, run.load.output_tokens, run.worst_gap_ns) for run in runs),
            strict=True,
        )
    )
    load = Workload((sent_ns[order] - sent_ns.min()) / 1e6, prompts, answers)
    return Pair(load, worst_ns, order < len(runs[0].load), runs[0])


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [pair(number) for number in (1, 2)]


@pytest.mark.parametrize("run", [0, 1])
def test_the_same_requests_stall_beside_long_prompts(
    pairs: list[Pair], model: ServiceModel, run: int
) -> None:
    seen = pairs[run]
    outcome = served(seen.load, model)
    stalled, predicted = (
        np.flatnonzero(worst > STALL_NS).tolist()
        for worst in (seen.worst_gap_ns, outcome.latency.worst_gap_ns)
    )
    assert len(stalled) == 7
    assert predicted == stalled


@pytest.mark.parametrize(("run", "other"), [(0, 1), (1, 0)])
def test_short_requests_beside_long_prompts_are_predicted(
    pairs: list[Pair], fit: Fitted, run: int, other: int
) -> None:
    """Single gaps scatter around their mean, which a replay's steps do not: as the fit says."""
    seen, again = pairs[run], pairs[other].short
    outcome = served(seen.load, fit.machine.model)
    gaps = np.concatenate(
        [
            chunk.gaps_of(place)
            for chunk in outcome.chunks()
            for place in range(len(chunk.tokens))
            if seen.is_short[chunk.first + place]
        ]
    )
    scattered = gaps * fit.service.jitter.sample(len(gaps), seed=1)
    compared = [
        *errors(seen.short.ttft_ns, outcome.ttft_ns[seen.is_short], again.ttft_ns),
        *errors(seen.short.gaps_ns, scattered, again.gaps_ns),
    ]
    assert [each for each in compared if abs(each[1]) > max(TOLERANCE, each[2])] == []
