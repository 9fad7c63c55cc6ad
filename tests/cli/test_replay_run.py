from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.running import SAMPLES, Ran, tokengap

AZURE: Final = str(SAMPLES / "azure-llm" / "AzureLLMInferenceTrace_conv_first2000.csv.gz")
CALIBRATED: Final = SAMPLES / "vllm-bench" / "calibrated"
HARDWARE: Final = """
[m]
prefill = { fixed_ms = 27.4, token_ms = 0.0905, square_ms = 8.45e-6 }
decode = { fixed_ms = 24.5, token_ms = 0.000224, request_ms = 0.0872 }
"""
LOAD: Final = (AZURE, "--requests", "60", "--rate", "2", "--longest-prompt", "2000")
LIMITS: Final = ("--limit", "tpot=100ms", "--limit", "worst_gap=100ms")
SPLIT: Final = ("--arm", "1P+1D:link=25GB/s", "--model", "opt-13b")


@pytest.fixture
def hardware(tmp_path: Path) -> str:
    path = tmp_path / "hardware.toml"
    path.write_text(HARDWARE)
    return str(path)


def run(hardware: str, *args: str) -> Ran:
    return tokengap("replay", "run", "--hardware", hardware, *LOAD, *args)


def test_the_audit_of_a_replay_is_the_audit(hardware: str, tmp_path: Path) -> None:
    """Kept in a store and audited from there, a replay gives the same answer."""
    store = str(tmp_path / "store")
    found: Any = run(hardware, *SPLIT, *LIMITS, "--store", store, "--json").json()
    assert found["counts"]["completed"] == 60
    assert found["hidden_stalls"]["count"] > 0
    causes = {stall["cause"] for stall in found["hidden_stalls"]["requests"]}
    assert causes == {"handoff"}
    again: Any = tokengap("audit", store, *LIMITS, "--json").json()
    assert again == found


def test_a_handoff_by_each_boundary(hardware: str, tmp_path: Path) -> None:
    """A cache of 819,200 B a token at 25 GB/s: the transfer alone is 32.768 us a prompt token."""
    store = str(tmp_path / "store")
    run(hardware, *SPLIT, "--store", store)
    found: Any = tokengap("query", "handoff_sizes", store, "--json").json()
    alone = [row for row in found if row["boundary"] == "transfer"]
    assert len(alone) == 60
    for row in alone:
        assert row["kv_bytes"] == 819_200 * row["prompt_tokens"]
        assert row["handoff_ns"] >= 32_768 * row["prompt_tokens"] - 1  # more on a shared link
        assert (row["prefill_worker"], row["decode_worker"]) == ("prefill-0", "decode-0")


def test_the_same_replay_is_kept_once(hardware: str, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    first, again = (run(hardware, *SPLIT, "--store", store) for _ in range(2))
    assert "store: kept" in first.err
    assert "store: there already" in again.err
    other = run(hardware, *SPLIT, "--store", store, "--seed", "1", "--name", "second")
    assert "store: kept" in other.err


def test_faults_deadlines_and_queues_show_in_the_counts(hardware: str) -> None:
    """A decoder dies with everything on it, and those requests may not begin again."""
    args = ("--fault", "lost=decode-0@10s..15s", "--on-loss", "fail", "--max-queue", "1", "--json")
    found: Any = run(hardware, *SPLIT, *args).json()
    counts = found["counts"]
    assert counts["failed"] > 0
    assert counts["offered"] == 60
    late: Any = run(hardware, *SPLIT, "--deadline", "1s", "--json").json()
    assert late["counts"]["timed_out"] > 0


def test_bursts_and_leaving_clients(hardware: str) -> None:
    args = ("--arm", "1", "--arrivals", "gamma=4", "--leave-rate", "0.5", "--json")
    found: Any = run(hardware, *args).json()
    assert found["counts"]["cancelled"] > 0
    assert found["counts"]["streams"] == 60


def test_two_clients_of_one_host_are_one_load(hardware: str) -> None:
    """60 short requests and 7 long prompts, each logged by a client of its own."""
    logs = [str(CALIBRATED / f"d_{kind}_mono_r1.json.gz") for kind in ("victims", "long")]
    args = ("replay", "run", *logs, "--hardware", hardware, "--arm", "1", "--json")
    refused = tokengap(*args)
    assert refused.code == 2
    assert "say --same-clock" in refused.err
    found: Any = tokengap(*args, "--same-clock").json()
    assert found["counts"]["completed"] == 67


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--arm", "x"), "write 4, 4:chunked=512"),
        (("--arm", "1", "--fault", "lost=decode-0@1s..2s"), "no worker is called 'decode-0'"),
        (("--arm", "1", "--fault", "lost=worker-0"), "write lost=WORKER"),
        (("--arm", "1", "--arrivals", "often"), "write as-logged"),
        (("--arm", "1", "--deadline", "5"), "has no unit"),
        (("--arm", "1P+1D:link=1GB/s"), "size of a token's cache"),
    ],
)
def test_what_cannot_be_replayed_is_said(hardware: str, args: tuple[str, ...], says: str) -> None:
    ran = run(hardware, *args)
    assert ran.code == 2
    assert says in ran.err
