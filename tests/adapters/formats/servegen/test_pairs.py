"""Both files of a client, and only both, give requests."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tests.adapters.reading import SAMPLES, Reading, Row
from tokengap.adapters.formats.servegen.pairs import ServeGen
from tokengap.adapters.interface import Head, Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.schema import STREAMS

SECOND = 10**9
TRACE = SAMPLES / "servegen" / "chunk-0-trace.csv"
DATASET = SAMPLES / "servegen" / "chunk-0-dataset_first_window.json"
PERIOD = {"input_tokens": "{5: 1.0}", "output_tokens": "{7: 1.0}"}


def read_files(*paths: Path) -> Reading:
    sources = [Source(str(path), path) for path in paths]
    intake = Intake(sources[0].stem, "servegen")
    table = pa.Table.from_batches(list(ServeGen().read(sources, intake)), STREAMS)
    table.validate(full=True)
    return Reading(table.to_pylist(), intake)


def pair(folder: Path, windows: str, periods: object, client: int = 3) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    trace = folder / f"chunk-{client}-trace.csv"
    dataset = folder / f"chunk-{client}-dataset.json"
    trace.write_text(windows, "utf-8")
    dataset.write_text(json.dumps(periods), "utf-8")
    return trace, dataset


def read_pair(folder: Path, windows: str, periods: object) -> Reading:
    return read_files(*pair(folder, windows, periods))


def one(folder: Path) -> Row:
    (row,) = read_pair(folder, f"600,{1 / 600},1,Gamma,1,1\n", {"0": PERIOD}).rows
    return row


def test_the_columns_of_a_row(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["request_id"], row["trace"]) == ("3/600/0", "chunk-3-trace")
    assert 600 * SECOND <= row["arrival_ns"] <= 1200 * SECOND
    assert row["prompt_tokens"] == 5
    assert (row["output_tokens"], row["token_count_source"]) == (7, "requested")
    assert row["quality"] == ["drawn_from_distribution"]
    assert row["labels"] == [("client", "3")]
    assert row["granularity"] == "workload"
    assert row["source"] == f"{row['clock']}:1"


def test_a_window_lasts_until_the_next_one(tmp_path: Path) -> None:
    windows = "0,0.1,1,Gamma,1,1\n100,0.1,1,Weibull,1,1\n"  # 100 s, then ten minutes
    rows = read_pair(tmp_path, windows, {"0": PERIOD}).rows
    assert [row["source"][-1] for row in rows] == ["1"] * 10 + ["2"] * 60
    assert all(row["arrival_ns"] <= 100 * SECOND for row in rows[:10])


def test_lengths_hold_for_their_six_hours_only(tmp_path: Path) -> None:
    other = PERIOD | {"output_tokens": "{9: 1}"}
    windows = "".join(f"{start},0.01,1,Gamma,1,1\n" for start in (21_000, 21_600, 43_200, 64_800))
    periods = {"0": PERIOD, "21600": other, "43200": {"input_tokens": "{}", "output_tokens": "{}"}}
    reading = read_pair(tmp_path, windows, periods)
    lengths = {row["source"][-1]: row["output_tokens"] for row in reading.rows}
    assert lengths == {"1": 7, "2": 9}
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(3, "start"), (4, "start")]
    assert "no lengths" in reading.intake.rejects[0].reason


def test_a_window_in_which_nothing_was_sent_is_no_error(tmp_path: Path) -> None:
    reading = read_pair(tmp_path, "0,0,0,,0,0\n600,0.01,1,Gamma,1,1\n", {"0": PERIOD})
    assert len(reading.rows) == 6
    assert reading.intake.rejects == []


@pytest.mark.parametrize(
    ("window", "field"),
    [
        ("x,1,1,Gamma,1,1", "start"),
        ("600,fast,1,Gamma,1,1", "rate"),
        ("600,-1,1,Gamma,1,1", "rate"),
        ("600,1,1,Pareto,1,1", "pattern"),
        ("600,1,1,Gamma,0,1", "shape"),
        ("600,1,1,Gamma,x,1", "shape"),
        ("600,0.005,1,Gamma,1e-9,1", "shape"),
        ("600,1e6,1,Gamma,1,1", "rate"),
    ],
)
def test_a_window_that_cannot_be_used_is_rejected(tmp_path: Path, window: str, field: str) -> None:
    reading = read_pair(tmp_path, f"0,0.01,1,Gamma,1,1\n{window}\n", {"0": PERIOD})
    assert len(reading.rows) >= 6
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(2, field)]


def test_a_window_that_the_next_does_not_come_after_is_rejected(tmp_path: Path) -> None:
    windows = "".join(f"{start},0.01,1,Gamma,1,1\n" for start in (600, 600, 1200))
    reading = read_pair(tmp_path, windows, {"0": PERIOD})
    assert [row["source"][-1] for row in reading.rows] == ["2"] * 6 + ["3"] * 6
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(1, "start")]


def test_lengths_that_cannot_be_used_are_rejected(tmp_path: Path) -> None:
    reading = read_pair(tmp_path, "0,0.01,1,Gamma,1,1\n", {"0": PERIOD | {"input_tokens": "{x"}})
    assert reading.rows == []
    assert [r.line for r in reading.intake.rejects] == [0, 1]  # of the one file, and the other


def test_half_a_pair_says_what_to_give(tmp_path: Path) -> None:
    trace, dataset = pair(tmp_path, "0,0.01,1,Gamma,1,1\n", {"0": PERIOD})
    with pytest.raises(InputError, match=r"chunk-3-dataset\.json, says how long"):
        read_files(trace)
    with pytest.raises(InputError, match=r"chunk-3-trace\.csv, says when"):
        read_files(dataset)


def test_files_of_two_clients_are_no_pair(tmp_path: Path) -> None:
    trace, _ = pair(tmp_path, "0,0.01,1,Gamma,1,1\n", {"0": PERIOD})
    _, dataset = pair(tmp_path, "", {"0": PERIOD}, client=4)
    with pytest.raises(InputError, match="client 3"):
        read_files(trace, dataset)


def test_clients_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    pairs = [pair(tmp_path / name, "0,0.01,1,Gamma,1,1\n", {"0": PERIOD}) for name in "ab"]
    with pytest.raises(InputError, match=r"client 3 too; .*--trace"):
        read_files(*pairs[0], *pairs[1])


def test_a_file_without_a_client_in_its_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "windows.csv").write_text("0,0.01,1,Gamma,1,1\n", "utf-8")
    with pytest.raises(InputError, match=r"chunk-0-trace\.csv"):
        read_files(tmp_path / "windows.csv")


@pytest.mark.parametrize(
    ("head", "matches"),
    [
        (b"0,1.33,8.59,Weibull,0.37,0.39\r\n600,0,0,,0,0\r\n", True),
        (b"0,0,0,,0,0\n", True),
        (b'{\n "0": {\n  "input_tokens": "{224: 0.0003', True),
        (b"0,1,2,Pareto,3,4\n", False),
        (b"timestamp,a,b,c,d,e\n", False),
        (b'{"0": {"input_tokens": 3}}', False),
        (b'{"a": "b"}', False),
    ],
)
def test_either_file_is_recognised(head: bytes, matches: bool) -> None:
    assert ServeGen().sniff(Head(head)).matches is matches


def test_sample_has_the_requests_its_windows_count() -> None:
    reading = read_files(DATASET, TRACE)
    # rate * 600 s of the windows of the first six hours, whose lengths are there
    windows = [line.split(",") for line in TRACE.read_text("utf-8").splitlines()]
    sizes = {int(w[0]): round(float(w[1]) * 600) for w in windows if int(w[0]) < 21_600}
    found = [int(row["request_id"].split("/")[1]) for row in reading.rows]
    assert {start: found.count(start) for start in sizes} == sizes
    later = [w for w in windows if int(w[0]) >= 21_600 and w[3]]
    assert len(reading.intake.rejects) == len(later)
    given = eval(json.loads(DATASET.read_text("utf-8"))["0"]["input_tokens"])  # noqa: S307
    mean = sum(length * share for length, share in given.items()) / sum(given.values())
    drawn = [row["prompt_tokens"] for row in reading.rows]
    assert abs(sum(drawn) / len(drawn) / mean - 1) < 0.05
