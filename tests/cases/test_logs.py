"""What is read from a log that is not clean.

`found == right != careless` says both: a case that cannot tell the two apart would fail.
"""

import json
import re
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.cases.commands import audit, gaps, gaps_by, latency, near, query_path, run, write_log
from tests.cases.convert import (
    bench_document,
    load_case,
    otlp_request,
    own_key_names,
    sse_capture_lines,
    stream_line,
)
from tokengap.schema import STREAMS


def test_37_bench_json_failed_rows(tmp_path: Path) -> None:
    case = load_case("37")
    document = bench_document(json.loads(case.input["text"]))
    rows = latency(tmp_path, [document])
    assert [rows[name]["status"] for name in ("0", "1")] == case.expect["status"]
    assert rows["1"]["ttft_ns"] is None
    assert gaps(tmp_path, [document]) == {"0": case.expect["gaps_ns"]}
    report = audit(tmp_path, [document])
    assert report["counts"]["failed"] == case.expect["n_failed"]
    ttft = report["percentiles"]["ttft_ns"]
    assert ttft["n"] == len(case.expect["ttft_samples_ns"])
    assert ttft["p50"] == case.expect["ttft_samples_ns"][0] != case.naive["median_ttft_ns"]


def test_56_otlp_int64_as_string(tmp_path: Path) -> None:
    case = load_case("56")
    (found,) = gaps(tmp_path, [otlp_request(case)]).values()
    assert found == case.expect["gaps_ns"] != case.naive["gaps_ns"]


def test_57_one_float_row_turns_column_to_double(tmp_path: Path) -> None:
    case = load_case("57")
    lines = own_key_names(case)
    found = gaps(tmp_path, lines)
    assert found == case.expect["gaps_ns"] != case.naive["gaps_ns"]
    # Neither a time that is null nor one between two nanoseconds is the time of a token.
    unusable = case.expect["rows_null_time"] + case.expect["rows_quarantined"]
    assert audit(tmp_path, lines)["counts"]["rejects"] == unusable


def test_58_bad_line_in_the_middle(tmp_path: Path) -> None:
    case = load_case("58")
    lines = own_key_names(case)
    rows = latency(tmp_path, lines)
    assert sorted(rows) == case.expect["requests_seen"]
    tokens = sum(row["output_tokens"] for row in rows.values())
    assert tokens == case.expect["rows_ok"] != case.naive["rows_ok"]
    report = audit(tmp_path, lines)
    assert report["counts"]["rejects"] == len(case.expect["quarantined_lines"])
    assert "end_not_seen" in str(report["quality"])  # nothing says that request a is complete


def test_61_event_time_is_last_byte(tmp_path: Path) -> None:
    case = load_case("61")
    row = latency(tmp_path, sse_capture_lines(case))["a"]
    assert row["ttft_ns"] == case.expect["ttft_ns"] != case.naive["event_time_ns"]
    assert row["deliveries"] == case.expect["n_events"]


def test_63_non_finite_in_json(tmp_path: Path) -> None:
    case = load_case("63")
    measured = {"ttfts": [0.1] * 3, "itls": [[0.01]] * 3}
    spoilt = bench_document(measured | json.loads(case.input["text"]))
    assert {"Infinity", "NaN"} <= set(re.findall(r"\w+", spoilt))
    report = audit(tmp_path, [spoilt])  # parsed without NaN or Infinity
    assert report["counts"]["completed"] == case.expect["parsed"]["completed"]
    assert report["percentiles"]["gap_ns"]["p50"] == 10_000_000


def test_65_parquet_nanoseconds(tmp_path: Path) -> None:
    case = load_case("65")
    log = write_log(tmp_path / "case.jsonl", [stream_line("a", case.input["times_ns"])])
    run("ingest", str(log), "--store", str(tmp_path / "store"))
    found = gaps_by(query_path(tmp_path / "store", "gaps"), "request_id")["a"]
    assert found == case.expect["gaps_ns"] != case.naive["gaps_ns"]
    (row,) = query_path(tmp_path / "store", "request_latency")
    assert row["ttft_ns"] == case.expect["times_ns"][0]


def test_66_delta_encoded_int64(tmp_path: Path) -> None:
    times = load_case("66").input["times_ns"]
    path = tmp_path / "case.parquet"
    table = pa.table({"gaps_ns": pa.array([times], STREAMS.field("gaps_ns").type)})
    encoding = {"gaps_ns.list.element": "DELTA_BINARY_PACKED"}
    pq.write_table(table, path, use_dictionary=False, column_encoding=encoding)
    assert "DELTA_BINARY_PACKED" in pq.read_metadata(path).row_group(0).column(0).encodings
    assert pq.read_table(path)["gaps_ns"].to_pylist() == [times]
    assert pl.read_parquet(path)["gaps_ns"].to_list() == [times]
    assert duckdb.read_parquet(str(path)).fetchall() == [(times,)]


def test_68_rows_interleaved_and_shuffled(tmp_path: Path) -> None:
    case = load_case("68")
    found = gaps(tmp_path, own_key_names(case))
    assert found == case.expect["gaps_ns"]
    assert max(max(each) for each in found.values()) == case.expect["max_gap_ns"]
    assert case.expect["max_gap_ns"] != case.naive["max_gap_ns"]


def test_69_duplicate_delivery(tmp_path: Path) -> None:
    case = load_case("69")
    lines = own_key_names(case)
    row = latency(tmp_path, lines)["a"]
    careless = [each["output_tokens"] for each in case.naive.values()]
    assert row["output_tokens"] == case.expect["output_tokens"]
    assert row["output_tokens"] not in careless
    assert row["tpot_ns"] == near(case.expect["tpot_ns"])
    assert gaps(tmp_path, lines)["a"] == case.expect["delivery_gaps_ns"]
    assert "duplicate_dropped" in str(audit(tmp_path, lines)["quality"])
