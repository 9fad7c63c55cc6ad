import csv
import io
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.handoffs import split_log
from tests.cli.running import Ran, tokengap
from tests.handoff.worked import MIB, MS

WORKED: Final = ("--prefill", "40ms", "--step", "10ms")
PROMISED: Final = ("--limit", "ttft=80ms", "--limit", "worst_gap=20ms")
PNG: Final = b"\x89PNG"


def region(*args: str) -> Ran:
    return tokengap("handoff", "region", *WORKED, *args)


def test_the_42_points_as_json() -> None:
    """A MiB at a GiB/s takes 1000 / 1024 ms; 10.24 MiB for each GiB/s still pass."""
    found: Any = region(*PROMISED, "--json").json()
    assert found["schema"] == "tokengap.handoff.region/1"
    assert (found["points"], found["met"]) == (42, 2 + 3 + 4 + 5 + 6 + 7)
    assert (found["x"], found["y"]) == ("bandwidth_bytes_per_s", "cache_bytes")
    cells = {(cell[found["x"]] / 2**30, cell[found["y"]] / MIB): cell for cell in found["cells"]}
    assert cells[1, 4]["first_gap_ns"] == 13_906_250
    assert cells[1, 4]["met"] is True
    assert cells[1, 16]["first_gap_ns"] == 25_625_000
    assert cells[1, 16]["met"] is False
    edges = {edge[found["x"]] / 2**30: edge[found["y"]] / MIB for edge in found["boundary"]}
    assert edges == pytest.approx({rate: 10.24 * rate for rate in (0.25, 0.5, 1, 2, 4, 8)})


def test_the_42_points_as_text() -> None:
    ran = region(*PROMISED)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert ran.code == 0  # a sweep is no verdict
    assert "16 MiB 72.5 ms * 41.25 ms * 25.625 ms * 17.8125 ms 13.90625 ms 11.953125 ms" in lines
    assert "27 of 42 points keep every promise; * misses one" in lines
    assert "- the link is not shared: no contention" in lines


def test_any_two_parameters_can_be_axes() -> None:
    """Llama-3-8B at 1 GiB/s: 128 tokens are 16 MiB, 15.625 ms each time that a link is shared."""
    args = ("--model", "llama-3-8b", "--bandwidth", "1GiB/s", "--x", "transfers=1,2")
    found: Any = region(*args, "--y", "prompt=128,256", "--json").json()
    gaps = [
        (cell["transfers"], cell["prompt_tokens"], cell["first_gap_ns"]) for cell in found["cells"]
    ]
    assert gaps == [
        (1, 128, 25_625_000),
        (2, 128, 41_250_000),
        (1, 256, 41_250_000),
        (2, 256, 72_500_000),
    ]
    assert (found["met"], found["boundary"]) == (None, [])  # no limit, no verdict


def test_a_range_keeps_its_ends_and_rises_by_equal_ratios() -> None:
    found: Any = region("--cache", "1MiB", "--x", "bandwidth=1GiB/s..16GiB/s:5",
                        "--y", "overhead=0ns..4ns:3", "--json").json()  # fmt: skip
    rates = sorted({cell["bandwidth_bytes_per_s"] / 2**30 for cell in found["cells"]})
    assert rates == pytest.approx([1, 2, 4, 8, 16])
    assert sorted({cell["overhead_ns"] for cell in found["cells"]}) == [0, 2, 4]


def test_handoffs_of_a_trace_lie_at_the_bandwidth_that_would_take_their_time(
    tmp_path: Path,
) -> None:
    """16 MiB in 20 ms, of which 4 ms are fixed: 1000 MiB/s."""
    log = split_log(tmp_path / "log.jsonl", [(16 * MIB, 20 * MS)])
    args = ("--handoff", "transfer", "--overhead", "4ms", "--json")
    found: Any = region(*args, str(log)).json()
    (seen,) = found["observed"]
    assert seen["bandwidth_bytes_per_s"] == pytest.approx(1000 * MIB)
    assert (seen["cache_bytes"], seen["handoff_ns"]) == (16 * MIB, 20 * MS)


def test_page_picture_and_rows(tmp_path: Path) -> None:
    log = split_log(tmp_path / "log.jsonl", [(16 * MIB, 20 * MS)])
    files = {form: tmp_path / f"region.{form}" for form in ("html", "png", "csv")}
    options = [text for form, path in files.items() for text in (f"--{form}", str(path))]
    assert region(*PROMISED, *options, "--handoff", "transfer", str(log)).code == 0
    assert files["png"].read_bytes().startswith(PNG)
    page = files["html"].read_text()
    assert "27 of 42 points keep every promise." in page
    assert "observed handoffs: 1" in page
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert len(rows) == 42
    assert rows[-1]["met"] == "True"
    again = region("--csv", str(files["csv"]))
    assert again.code == 2
    assert "--force" in again.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--x", "colour=1,2"), "no parameter is called 'colour'"),
        (("--x", "bandwidth"), "write its values"),
        (("--x", "bandwidth=1,2"), "has no unit"),
        (("--x", "bandwidth=2GiB/s,1GiB/s"), "rising order"),
        (("--x", "bandwidth=2GiB/s..1GiB/s"), "must rise"),
        (("--x", "bandwidth=1GiB/s..2GiB/s:1"), "a range has 2 to"),
        (("--x", "transfers=0,1"), "no whole number"),
        (("--x", "prompt=1,2"), "needs --model"),
        (("--x", "cache=1MiB", "--bandwidth", "1GiB/s"), "both set cache_bytes"),
        (("--y", "overhead=0ns,1ns"), "give the cache"),
        (("--y", "overhead=0ns,1ns", "--cache", "1MiB", "trace.json"), "laid over cache"),
        (("--json", "--html", "-"), "only one of"),
        (("no-such-file.json",), "no-such-file.json"),
    ],
)
def test_what_cannot_be_swept_is_said(args: tuple[str, ...], says: str, tmp_path: Path) -> None:
    log = str(split_log(tmp_path / "trace.jsonl", [(MIB, MS)]))
    ran = region(*(log if arg == "trace.json" else arg for arg in args))
    assert ran.code in (2, 3)
    assert says in ran.err
    assert "Traceback" not in ran.err
