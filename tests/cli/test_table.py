"""`--format table --map FILE.toml`: any table goes the way of any log."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cases.convert import load_case
from tests.cli.running import SAMPLES, Ran, tokengap

MAP = """
rows = "request"
vantage = "client"
clock = { kind = "wall" }

[columns]
request_id = "id"
sent = { column = "start", unit = "s" }
first_token = { column = "ttft", unit = "s", since = "sent" }
gaps = { column = "itl", unit = "ms" }
output_tokens = "n"
"""
ROWS = {
    "id": ["a", "b"],
    "start": [100, 200],
    "ttft": [0.45, 0.3],
    "itl": [[20.0, 900.0], [20.0, 30.0]],
    "n": [3, 3],
}


def write_map(folder: Path, text: str = MAP) -> str:
    path = folder / "map.toml"
    path.write_text(text, "utf-8")
    return str(path)


def write_rows(folder: Path, kind: str) -> str:
    path = folder / f"log.{kind}"
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    if kind == "parquet":
        pq.write_table(pa.table(ROWS), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        lines = [",".join(f'"{cell}"' for cell in row.values()) for row in rows]
        path.write_text("\n".join([",".join(ROWS), *lines]) + "\n", "utf-8")
    return str(path)


def audit(log: str, mapping: str, *options: str) -> Ran:
    return tokengap("audit", log, "--format", "table", "--map", mapping, *options)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_hidden_stall_is_found_in_any_kind_of_table(tmp_path: Path, kind: str) -> None:
    # a: (20 + 900) / 2 = 460 ms on average and 900 ms at worst; b: 25 ms and 30 ms.
    log, limits = (
        write_rows(tmp_path, kind),
        ("--limit", "tpot=500ms", "--limit", "worst_gap=800ms"),
    )
    ran = tokengap(
        "audit", log, "--format", "table", "--map", write_map(tmp_path), "--json", *limits
    )
    report = ran.json()
    assert report["hidden_stalls"]["count"] == 1
    (stalled,) = report["hidden_stalls"]["requests"]
    assert (stalled["request_id"], stalled["worst_gap_ns"]) == ("a", 900_000_000)


def test_54_the_unit_of_a_column_is_not_that_of_a_limit(tmp_path: Path) -> None:
    case = load_case("54")
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["ttft", *map(str, case.input["ttft"])]) + "\n", "utf-8")
    unit = case.input["ttft_unit"]
    text = (
        'rows = "request"\nvantage = "client"\n[columns]\n'
        f'first_token = {{ column = "ttft", unit = "{unit}", since = "sent" }}\n'
    )
    options = ("--format", "table", "--map", write_map(tmp_path, text), "--json")
    rows = tokengap("query", "request_latency", str(log), *options).json()
    assert [row["ttft_ns"] for row in rows] == case.expect["ttft_ns"]
    limit = f"ttft={case.input['slo']['ttft']}{case.input['slo']['unit']}"
    (objective,) = tokengap("audit", str(log), *options, "--limit", limit).json()["objectives"]
    met, judged = objective["met"], objective["met"] + objective["missed"]
    assert f"{met}/{judged}" == case.expect["attainment"] != case.naive["attainment"]


def test_a_number_without_a_unit_is_refused(tmp_path: Path) -> None:
    wrong = MAP.replace(', unit = "ms"', "")
    ran = tokengap(
        "audit",
        write_rows(tmp_path, "csv"),
        "--format",
        "table",
        "--map",
        write_map(tmp_path, wrong),
    )
    assert ran.code == 2
    assert "--map, line 10: columns.gaps: unit is missing" in ran.err


def test_a_column_that_is_not_there_is_an_error_of_the_file(tmp_path: Path) -> None:
    wrong = MAP.replace('"start"', '"strat"')
    ran = tokengap(
        "audit",
        write_rows(tmp_path, "csv"),
        "--format",
        "table",
        "--map",
        write_map(tmp_path, wrong),
    )
    assert ran.code == 3
    assert (
        "log.csv: no column 'strat' (--map, line 8: columns.sent); did you mean 'start'?" in ran.err
    )
    assert "does not look like" not in ran.err


def test_a_table_without_a_map_says_what_to_do(tmp_path: Path) -> None:
    ran = tokengap("audit", write_rows(tmp_path, "csv"), "--format", "table")
    assert ran.code == 2
    assert "--map FILE.toml" in ran.err


@pytest.mark.parametrize("options", [(), ("--format", "vllm-bench")])
def test_a_map_without_a_table_says_what_to_do(tmp_path: Path, options: tuple[str, ...]) -> None:
    log, mapping = write_rows(tmp_path, "csv"), write_map(tmp_path)
    for command in (("audit", log), ("ingest", log, "--store", str(tmp_path / "store"))):
        ran = tokengap(*command, "--map", mapping, *options)
        assert ran.code == 2
        assert "--format table" in ran.err


def test_a_store_knows_by_which_map_it_was_loaded(tmp_path: Path) -> None:
    log, store = write_rows(tmp_path, "parquet"), str(tmp_path / "store")
    load = ("ingest", log, "--store", store, "--format", "table", "--map")
    assert "loaded" in tokengap(*load, write_map(tmp_path)).out
    assert "nothing changed" in tokengap(*load, write_map(tmp_path)).out
    other = MAP.replace(
        'gaps = { column = "itl", unit = "ms" }', 'gaps = { column = "itl", unit = "us" }'
    )
    assert "replaced" in tokengap(*load, write_map(tmp_path, other)).out
    rows = tokengap("query", "request_latency", store, "--json").json()
    assert sorted(row["worst_gap_ns"] for row in rows) == [30_000, 900_000]


@pytest.mark.parametrize("name", ["requests.csv", "tokens.csv.gz"])
def test_samples_can_be_judged(name: str) -> None:
    log = SAMPLES / "table" / name
    mapping = log.with_name(f"{name.split('.', maxsplit=1)[0]}.toml")
    report = tokengap(
        "audit", str(log), "--format", "table", "--map", str(mapping), "--json"
    ).json()
    assert report["counts"]["completed"] == 24
    assert report["counts"]["rejects"] == 0
