import csv
import io
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from tests.cli.handoffs import split_log
from tests.cli.running import SAMPLES, Ran, tokengap
from tests.handoff.worked import MIB, MS

LINKS: Final = {("p0", "d0"): (5 * MS, 2 * 10**9), ("p1", "d0"): (20 * MS, 10**9)}
"""Overhead and bandwidth of each pair of workers."""
SPLIT: Final = (
    str(SAMPLES / "vllm-bench" / "bench_pd_forward.json.gz"),
    str(SAMPLES / "proxy-log" / "proxy_pd_forward.jsonl.gz"),
    "--same-clock",
    "--id-prefix",
    "bench_pd_forward=pdf-",
)
TINY: Final = ("--layers", "4", "--kv-heads", "2", "--head-dim", "64", "--kv-dtype", "fp32")


def fit(*args: str) -> Ran:
    return tokengap("handoff", "fit", *args)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """100 handoffs of each pair, exactly on its line."""
    random = np.random.default_rng(3)
    sizes = [int(size) for size in random.lognormal(np.log(64e6), 0.8, 200)]
    handoffs = []
    for number, size in enumerate(sizes):
        overhead_ns, rate = list(LINKS.values())[number % len(LINKS)]
        handoffs.append((size, overhead_ns + size * 10**9 // rate))
    return str(split_log(tmp_path / "split.jsonl", handoffs, LINKS))


def test_each_pair_of_workers_has_its_own_line(log: str) -> None:
    found: Any = fit(log, "--handoff", "transfer", "--json").json()
    assert found["schema"] == "tokengap.handoff.fit/1"
    assert (found["boundary"], found["sizes_from"]) == ("transfer", "bytes as logged")
    fits = {each["workers"]: each for each in found["fits"]}
    assert fits["all"]["handoffs"] == 200
    for (prefill, decode), (overhead_ns, rate) in LINKS.items():
        own = fits[f"{prefill} to {decode}"]
        assert own["handoffs"] == 100
        assert own["overhead_ns"]["value"] == pytest.approx(overhead_ns, rel=1e-3)
        assert own["bandwidth_bytes_per_s"]["value"] == pytest.approx(rate, rel=1e-4)
        assert own["explained_share"] == pytest.approx(1, abs=1e-6)
    assert fits["all"]["explained_share"] < 0.95  # two links are no line


def test_the_budget_is_redrawn_beside_the_nominal_rate(tmp_path: Path) -> None:
    """64 MiB over 1 GiB/s and 5 ms are 67.5 ms; the name plate says 2 GiB/s, 31.25 ms."""
    sizes = [size * MIB for size in range(1, 65)]
    handoffs = [(size, 5 * MS + size * 10**9 // 2**30) for size in sizes]
    log = split_log(tmp_path / "log.jsonl", handoffs)
    args = ("--bandwidth", "2GiB/s", "--step", "10ms", "--limit", "worst_gap=50ms")
    found: Any = fit(str(log), "--handoff", "transfer", *args, "--json").json()
    largest = found["redrawn"][-1]
    assert (largest["size"], largest["cache_bytes"]) == ("largest", 64 * MIB)
    assert largest["nominal_ns"] == 31_250_000
    assert largest["fitted_ns"] == pytest.approx(67_500_000, rel=1e-6)
    assert largest["first_gap_ns"] == pytest.approx(77_500_000, rel=1e-6)
    assert [row["verdict"] for row in found["redrawn"]] == ["met", "met", "missed", "missed"]


def test_by_the_stream_the_gap_holds_its_step(log: str) -> None:
    """Its overhead is the transfer's and one step of 10 ms; the gap is that line itself."""
    found: Any = fit(log, "--json").json()
    own = next(each for each in found["fits"] if each["workers"] == "p0 to d0")
    assert own["overhead_ns"]["value"] == pytest.approx(15 * MS, rel=1e-3)
    assert found["redrawn"][0]["first_gap_ns"] == found["redrawn"][0]["fitted_ns"]
    assert "the overhead holds one decode step, for the gap does" in found["assumptions"]


def test_a_real_split_says_that_its_bytes_explain_next_to_nothing() -> None:
    """Prompts of 443 to 771 tokens through a shared folder: waiting, not bytes, is what lasts."""
    found: Any = fit(*SPLIT, *TINY, "--json").json()
    (whole,) = found["fits"]
    assert whole["handoffs"] == 50
    assert whole["explained_share"] < 0.05
    assert "does not grow with bytes" in whole["cannot_tell"]
    assert whole["bandwidth_bytes_per_s"] == {"value": None, "low": None, "high": None}
    assert found["sizes_from"] == "the whole prompt in the model's cache"
    assert "Cannot tell: time does not grow" in fit(*SPLIT, *TINY).out


def test_page_picture_and_rows(log: str, tmp_path: Path) -> None:
    files = {form: tmp_path / f"fit.{form}" for form in ("html", "png", "csv")}
    options = [text for form, path in files.items() for text in (f"--{form}", str(path))]
    ran = fit(log, "--handoff", "transfer", "--bandwidth", "25Gb/s", *options)
    assert ran.code == 0
    assert "p1 to d0" in ran.out
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert "Handoff time against its bytes" in files["html"].read_text()
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert len(rows) == 200
    assert {row["prefill_worker"] for row in rows} == {"p0", "p1"}


def test_unknown_sizes_are_left_out_and_counted(tmp_path: Path) -> None:
    known = [(size * MIB, 5 * MS + size * MS) for size in range(1, 41)]
    log = split_log(tmp_path / "log.jsonl", [*known, (None, 7 * MS), (None, 8 * MS)])
    found: Any = fit(str(log), "--handoff", "transfer", "--json").json()
    assert found["fits"][0]["handoffs"] == 40
    assert found["left_out"] == ["2 of unknown size"]
    both: Any = fit(str(log), "--handoff", "transfer", "--model", "llama-3-8b", "--json").json()
    assert both["fits"][0]["handoffs"] == 42
    assert both["sizes_from"].startswith("bytes as logged for 40, else the whole prompt")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "no log says how many bytes"),
        (("--handoff", "relay"), "no completed request has an exact handoff above 0 by boundary"),
        (("--limit", "tpot=1ms"), "a handoff makes the worst_gap, only"),
        (("--bandwidth", "25"), "has no unit"),
        (("--model", "x"), "no model is called"),
    ],
)
def test_what_cannot_be_fitted_is_said(args: tuple[str, ...], says: str, tmp_path: Path) -> None:
    log = split_log(tmp_path / "log.jsonl", [(None, MS)] * 3)
    ran = fit(str(log), *args)
    assert ran.code in (2, 3)
    assert says in ran.err
