import csv
import json
from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, read, times, unpacked
from tokengap.adapters.formats.llmservingsim import LlmServingSim
from tokengap.adapters.interface import Head
from tokengap.errors import InputError

FOLDER = SAMPLES / "llmservingsim"
FILES = sorted(FOLDER.iterdir())
MS = 1_000_000
HEADER = (
    "instance id,request id,model,input,output,arrival,end_time,latency,queuing_delay,TTFT,TPOT,ITL"
)
# In ms: arrival 1,000; in the queue for 50; first token after 300, then 10, 20, 30: 360 in all.
GAPS = f"[{10 * MS}, {20 * MS}, {30 * MS}]"
CELLS = {
    "instance id": "1",
    "request id": "7",
    "model": "org/m",
    "input": "16",
    "output": "4",
    "arrival": str(1000 * MS),
    "end_time": str(1360 * MS),
    "latency": str(360 * MS),
    "queuing_delay": str(50 * MS),
    "TTFT": str(300 * MS),
    "TPOT": str(20 * MS),
    "ITL": f'"{GAPS}"',
}


def row_with(**cells: str) -> str:
    return ",".join((CELLS | cells).values())


def table(folder: Path, *rows: str, header: str = HEADER) -> Reading:
    path = folder / "sim.csv"
    path.write_text("\n".join((header, *rows)) + "\n")
    return read(LlmServingSim(), path)


def one(folder: Path, **cells: str) -> Row:
    (found,) = table(folder, row_with(**cells)).rows
    return found


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert times(row) == [1300 * MS, 1310 * MS, 1330 * MS, 1360 * MS]
    assert (row["granularity"], row["output_tokens"], row["prompt_tokens"]) == ("token", 4, 16)
    assert (row["arrival_ns"], row["stream_close_ns"]) == (1000 * MS, 1360 * MS)
    assert [(s["name"], s["start_ns"], s["end_ns"]) for s in row["stages"]] == [
        ("queue", 1000 * MS, 1050 * MS)
    ]
    assert (row["vantage"], row["clock_kind"]) == ("engine", "monotonic")
    assert (row["request_id"], row["model"], row["status"]) == ("7", "org/m", "completed")
    assert dict(row["labels"]) == {"simulated": "LLMServingSim", "instance": "1"}
    assert (row["handoff_source"], row["last_prefill_token"], row["quality"]) == (None, None, [])
    assert row["source"].endswith(":2")


def test_a_single_token_has_no_gap(tmp_path: Path) -> None:
    single = {"output": "1", "end_time": str(1300 * MS), "latency": str(300 * MS), "ITL": "[]"}
    row = one(tmp_path, **single)
    assert (times(row), row["gaps_ns"], row["quality"]) == ([1300 * MS], [], [])


@pytest.mark.parametrize(
    ("end_ms", "latency_ms", "note"),
    [
        (1400, 400, "events_lost"),
        (1350, 350, "clock_contradiction"),
        (1350, 360, "clock_contradiction"),
        (1360, 350, "clock_contradiction"),
        (0, 360, "clock_contradiction"),
    ],
)
def test_gaps_that_do_not_add_up_to_the_latency_are_told(
    tmp_path: Path, end_ms: int, latency_ms: int, note: str
) -> None:
    row = one(tmp_path, end_time=str(end_ms * MS), latency=str(latency_ms * MS))
    assert row["quality"] == [note]


def test_a_list_of_another_length_is_told(tmp_path: Path) -> None:
    assert one(tmp_path, output="9")["quality"] == ["count_mismatch"]


def test_a_negative_gap_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, ITL=f'"[{10 * MS}, {-20 * MS}, {70 * MS}]"')
    assert row["gaps_ns"] == [10 * MS, -20 * MS, 70 * MS]
    assert row["quality"] == ["non_monotonic"]


def test_a_request_that_never_got_a_token_has_minus_one_for_its_times(tmp_path: Path) -> None:
    unset = dict.fromkeys(("end_time", "latency", "queuing_delay", "TTFT", "TPOT"), "-1")
    row = one(tmp_path, **unset, ITL="[]")
    assert (row["status"], row["first_token_ns"], row["stream_close_ns"]) == (
        "in_flight",
        None,
        None,
    )
    assert (row["stages"], row["quality"]) == (None, ["sentinel_dropped"])


@pytest.mark.parametrize(
    ("field", "cell"),
    [
        ("arrival", "1000.5"),
        ("arrival", ""),
        ("arrival", "-1"),
        ("arrival", str(2**62)),
        ("arrival", "9" * 400),
        ("output", "-4"),
        ("input", "99999999999"),
        ("ITL", '"[10, 2.5]"'),
        ("ITL", "secret"),
        ("ITL", f'"[{2**61}, {2**61}, {2**61}]"'),
        ("ITL", f"[{2**70}]"),
        ("TTFT", str(2**62 - 1)),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_alone(tmp_path: Path, field: str, cell: str) -> None:
    reading = table(tmp_path, row_with(**{field: cell}), row_with())
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (2, field)
    assert "secret" not in str(reject)


def test_a_row_with_a_cell_too_few_is_rejected_alone(tmp_path: Path) -> None:
    reading = table(tmp_path, "0,1,m,16,4", row_with())
    assert (len(reading.rows), [r.line for r in reading.intake.rejects]) == (1, [2])


def test_a_table_without_a_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="latency"):
        table(tmp_path, "1,2", header=HEADER.replace("latency,", ""))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_token_is_the_files_own(path: Path) -> None:
    logged = list(csv.DictReader(unpacked(path).decode().splitlines()))
    rows = read(LlmServingSim(), path).by_id()
    assert len(rows) == len(logged) > 0
    for one in logged:
        row, gaps = rows[one["request id"]], json.loads(one["ITL"])
        assert row["gaps_ns"] == gaps
        assert row["first_token_ns"] - row["arrival_ns"] == int(one["TTFT"])
        assert times(row)[-1] == int(one["end_time"])
        assert (row["granularity"], row["quality"]) == ("token", [])
        # The table's own mean is rounded down.
        assert sum(gaps) // len(gaps) == int(one["TPOT"])


def test_the_simulated_handoff_is_in_the_first_gap_of_some() -> None:
    # Request 1 of the split run: 21,714,307 ns before its second token, and 11.1 ms on average.
    row = read(LlmServingSim(), FOLDER / "example_pd_run.csv").by_id()["1"]
    assert row["gaps_ns"][0] == max(row["gaps_ns"]) == 21_714_307


def test_other_tables_are_not_taken_for_it() -> None:
    assert not LlmServingSim().sniff(Head(b"request id,model,TTFT,ITL\n")).matches
    assert LlmServingSim().sniff(Head(f"{HEADER}\n".encode())).matches
