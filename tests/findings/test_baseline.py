"""Baselines of recorded and of planted logs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.running import SAMPLES
from tests.planted import LANES, planted
from tokengap.errors import UsageError
from tokengap.findings.baseline import STORED, Baseline, baseline
from tokengap.library import load, read_catalogue, refresh
from tokengap.library.inputs import objectives, opened
from tokengap.store.connect import Declared, Tables, bind, connect

BENCH: Final = SAMPLES / "vllm-bench"
CALIBRATED: Final = BENCH / "calibrated"
LIMITS: Final = ("tpot=50ms", "worst_gap=500ms")


def measured(*paths: Path, limits: tuple[str, ...] = LIMITS, **options: Any) -> Baseline:
    catalogue = read_catalogue().storing(STORED)
    with opened([str(path) for path in paths], catalogue, print, **options) as inputs:
        return baseline(inputs.con, objectives(limits, None), 512)


@pytest.fixture(scope="module")
def interference() -> Baseline:
    victims = BENCH / "bench_victims_mono8192_quiet.json.gz"
    return measured(victims, BENCH / "bench_interferers_mono8192_quiet.json", same_clock=True)


def test_long_prompts_beside_short_answers_are_interference(interference: Baseline) -> None:
    """The audit of the same files names these prompts as the cause of 13 gaps of 12 requests."""
    assert interference.verdict.name == "interference"
    (worst,) = (each for each in interference.misses if each.statistic == "worst_gap")
    assert (worst.missed, worst.apart, worst.chunked) == (21, 12, 12)
    longest = interference.doses[-1]
    assert (longest.dose_step, longest.gaps) == (12, 13)  # 2,048 to 4,096 tokens
    assert longest.gap_ns.low is not None
    assert longest.gap_ns.low > 100 * (interference.effect.calm_gap_ns.high or 0)


def test_the_same_answers_without_the_log_of_the_long_prompts_show_no_cause() -> None:
    found = measured(BENCH / "bench_victims_mono8192_quiet.json.gz")
    assert found.verdict.name == "no measured interference"
    assert any("Prompts of other clients" in why for why in found.verdict.why)


@pytest.mark.parametrize("limits", [(), LIMITS])
def test_a_low_rate_shows_no_interference(limits: tuple[str, ...]) -> None:
    found = measured(BENCH / "bench_low_rate.json.gz", limits=limits)
    assert found.verdict.name == "no measured interference"


def test_an_overload_is_a_matter_of_provisioning() -> None:
    found = measured(BENCH / "bench_burst.json.gz")
    assert found.verdict.name == "provisioning"
    assert found.queued_share == pytest.approx(0.81, abs=0.01)


def test_half_load_with_prompts_of_all_lengths_is_interference() -> None:
    """A quiet machine: prefills explain nearly all that long gaps last beyond their pace."""
    for run in ("r1", "r2"):
        found = measured(CALIBRATED / f"b_poisson50_mono_{run}.json.gz")
        assert found.verdict.name == "interference"
        assert (found.effect.explained_share.low or 0) > 0.9
        assert found.any.apart == found.any.missed > 10


@pytest.fixture(scope="module")
def calibrated() -> Baseline:
    return measured(*sorted(CALIBRATED.glob("a_*")), limits=())


def test_cost_of_work_is_that_of_the_fixed_loads(calibrated: Baseline) -> None:
    """Medians as recomputed from the files: TTFT of one prompt alone, gaps of so many at once.

    A fixed load holds its prompt and about 24 of 48 answer tokens a request (96 of 192, 64 of 128).
    """
    service = calibrated.service
    assert list(service.unidentified) == []
    assert service.prefill is not None
    assert service.decode is not None
    for tokens, median_ms in ((64, 24.1), (256, 57.0), (1024, 194.9), (3000, 1016.7)):
        took = service.prefill.ns(tokens, tokens**2) / 1e6
        assert took == pytest.approx(median_ms, rel=0.2), tokens
    for running, held, median_ms in (
        (1, 64 + 24, 6.66), (4, 64 + 24, 8.51), (16, 64 + 24, 10.1), (1, 1024 + 24, 6.66),
        (4, 1024 + 24, 9.94), (16, 1024 + 24, 20.9), (1, 3000 + 24, 9.01), (4, 3000 + 24, 14.7),
        (16, 3000 + 24, 38.9), (8, 64 + 96, 7.34), (32, 64 + 96, 13.5), (8, 1024 + 64, 13.0),
    ):  # fmt: skip
        took = service.decode.ns(running, running * held) / 1e6
        assert took == pytest.approx(median_ms, rel=0.2), (running, held)
    # At fixed loads, the 90th percentile of all gaps is 1.2 to 1.5 times their median.
    assert service.jitter.quantile(0.9) == pytest.approx(1.24, abs=0.1)
    assert service.seen.running == pytest.approx((1, 32))
    assert not list(service.seen.extrapolated(running=48))
    assert list(service.seen.extrapolated(running=49))


def test_capacity_of_a_closed_loop_is_a_matter_of_provisioning() -> None:
    assert measured(CALIBRATED / "a_capacity_mixed.json.gz").verdict.name == "provisioning"


@contextmanager
def stored(folder: Path, rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection over one part with these rows."""
    part = folder / "part.parquet"
    pq.write_table(rows, part)
    catalogue = read_catalogue().storing(STORED)
    with connect(Declared(), folder) as con:
        load(con, catalogue)
        bind(con, Tables([str(part)]), Declared())
        refresh(con, catalogue)
        yield con


def test_planted_prefills_are_found_and_other_stops_are_not(tmp_path: Path) -> None:
    """Planted stops of a whole worker hit up to 32 streams; half are prefills of 40 µs a token."""
    ((rows, truth),) = planted(LANES * 8000)
    with stored(tmp_path, rows) as con:
        found = baseline(con, objectives(("worst_gap=100ms",), None), 512)
    prefilled = sum(cause == "prefill_interference" for cause in truth.values())
    (worst,) = found.misses
    hit = {name for (name, _), cause in truth.items() if cause == "prefill_interference"}
    others = {name for (name, _), cause in truth.items() if cause != "prefill_interference"}
    assert prefilled > 100
    assert worst.missed == len(hit | others)
    assert worst.apart == len(hit - others)
    # Stops last 150 ms and more, which is 3,750 tokens; prompts of planted streams cost nothing.
    for dose in found.doses:
        if dose.dose_tokens > 3_750:
            assert dose.beyond_ns.value is not None
            assert dose.beyond_ns.value / dose.dose_tokens == pytest.approx(40_000, rel=0.02)
    assert sum(dose.gaps for dose in found.doses if dose.dose_tokens > 3_750) > 100
    assert found.verdict.name == "interference"


def test_a_chunk_has_tokens() -> None:
    catalogue = read_catalogue().storing(STORED)
    with (
        opened([str(BENCH / "bench_low_rate.json.gz")], catalogue, print) as inputs,
        pytest.raises(UsageError, match="at least one token"),
    ):
        baseline(inputs.con, [], 0)
