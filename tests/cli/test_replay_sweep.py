import csv
import io
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.running import SAMPLES, VICTIMS, Ran, tokengap

AZURE: Final = str(SAMPLES / "azure-llm" / "AzureLLMInferenceTrace_conv_first2000.csv.gz")
HARDWARE: Final = """
[m]
gpus = 2
cost_per_hour = 3.6
prefill = { fixed_ms = 27.4, token_ms = 0.0905, square_ms = 8.45e-6 }
decode = { fixed_ms = 24.5, token_ms = 0.000224, request_ms = 0.0872 }
"""
LOAD: Final = (AZURE, "--requests", "120", "--rate", "2.667", "--longest-prompt", "2000")
LIMITS: Final = ("--limit", "tpot=100ms", "--limit", "worst_gap=100ms")


@pytest.fixture
def hardware(tmp_path: Path) -> str:
    path = tmp_path / "hardware.toml"
    path.write_text(HARDWARE)
    return str(path)


def sweep(hardware: str, *args: str) -> Ran:
    return tokengap("replay", "sweep", "--hardware", hardware, *args)


def test_arms_of_four_gpus(hardware: str) -> None:
    """Chunks remove the stalls that whole prompts make; the average never saw them."""
    args = ("--gpus", "4", "--budget", "256", "--quick", "--json")
    found: Any = sweep(hardware, *LOAD, *LIMITS, *args).json()
    assert found["schema"] == "tokengap.replay/1"
    assert found["matched"] == {"by": "gpus", "total": 4, "tolerance_share": 0, "unequal": False}
    arms = {arm["name"]: arm for arm in found["arms"]}
    assert set(arms) == {"2 colocated, prefill-first", "2 colocated, chunked 256", "1P+1D"}
    whole, chunked = arms["2 colocated, prefill-first"], arms["2 colocated, chunked 256"]
    assert whole["attainment"] < 0.5 < chunked["attainment"]
    assert whole["offered"] == 20 * 120
    assert whole["hidden_stalls"] == whole["offered"] - whole["good"]
    assert whole["objectives"][0] | {"statistic": "tpot", "attainment": 1} == whole["objectives"][0]
    assert arms["1P+1D"]["prefill_workers"] == arms["1P+1D"]["decode_workers"] == 1
    per_s = chunked["goodput_per_s"]
    assert chunked["cost_per_good_request"] == pytest.approx(2 * 3.6 / 3600 / per_s)
    assert found["recommendation"]["advice"] in ("chunk first", "separate")
    assert found["validation"] is None


def test_the_baseline_is_held_against_its_log(hardware: str) -> None:
    """A model of another machine does not make this log, and says so before anything else."""
    args = ("--gpus", "2", "--arm", "1", "--arm", "1:chunked=512", "--baseline", "1", "--quick")
    ran = sweep(hardware, VICTIMS, *LIMITS, *args)
    assert ran.code == 0
    assert ran.out.startswith("The baseline as it was")
    assert "does not reproduce its own baseline" in ran.out.partition("Arms of")[0]


def test_faults_and_a_closed_loop(hardware: str, tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    args = ("--gpus", "4", "--arm", "2", "--arm", "2:chunked=256", "--arrivals", "closed=4,1s")
    faults = ("--fault", "slow=worker-1@2s..4s*3", "--fault", "slow=worker-0@5s..*2")
    ran = sweep(hardware, *LOAD, *LIMITS, *args, *faults, "--html", str(page))
    assert ran.code == 0
    assert "SlowWorker worker-1, from 2 s to 4 s" in page.read_text()
    assert "SlowWorker worker-0, from 5 s to the end" in page.read_text()


def test_unequal_arms_are_refused_unless_wanted(hardware: str) -> None:
    args = (*LOAD, *LIMITS, "--gpus", "4", "--arm", "1", "--arm", "1P+1D", "--quick")
    refused = sweep(hardware, *args)
    assert refused.code == 2
    assert "takes 2 of 4 GPUs" in refused.err
    wanted = sweep(hardware, *args, "--unequal")
    assert wanted.code == 0
    assert "ARMS ARE UNEQUAL" in wanted.out


def test_page_picture_and_rows(hardware: str, tmp_path: Path) -> None:
    files = {form: tmp_path / f"sweep.{form}" for form in ("html", "png", "csv")}
    options = [text for form, path in files.items() for text in (f"--{form}", str(path))]
    args = ("--gpus", "4", "--budget", "256", "--model", "opt-13b", "--bandwidth", "25GB/s")
    ran = sweep(hardware, *LOAD, *LIMITS, *args, *options)
    assert ran.code == 0
    assert "Until it flips" in ran.out
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    page = files["html"].read_text()
    for heading in (
        "Promises kept by each arm",
        "First token against the gaps",
        "Rankings by each",
    ):
        assert heading in page
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert {row["kind"] for row in rows} == {"colocated", "chunked", "split"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((*LOAD, "--gpus", "4"), "needs promises to keep"),
        ((*LOAD, *LIMITS), "give what is to be divided"),
        ((*LOAD, *LIMITS, "--gpus", "4", "--cost", "1"), "give what is to be divided"),
        ((*LOAD, *LIMITS, "--gpus", "1"), "cannot be divided"),
        ((*LOAD, *LIMITS, "--power", "100"), "need the power of each machine"),
        ((*LOAD, *LIMITS, "--gpus", "4", "--bandwidth", "1GB/s"), "size of a token's cache"),
        ((*LOAD, *LIMITS, "--gpus", "4", "--overlap", "layers"), "needs a model"),
        ((*LOAD, *LIMITS, "--gpus", "4", "--arm", "x"), "write 4, 4:chunked=512"),
        ((*LOAD, *LIMITS, "--gpus", "4", "--drawings", "3"), "20 or more"),
        ((AZURE, VICTIMS, *LIMITS, "--gpus", "4"), "a replay is of one load"),
    ],
)
def test_what_cannot_be_swept_is_said(hardware: str, args: tuple[str, ...], says: str) -> None:
    ran = sweep(hardware, *args)
    assert ran.code == 2
    assert says in ran.err
