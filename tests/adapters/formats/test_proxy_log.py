from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, marks, read, read_lines
from tokengap.adapters.formats.proxy_log import ProxyLog
from tokengap.adapters.formats.sse.capture import Sse

MS = 1_000_000
DISCARD: dict[str, Any] = {
    "request_id": "r",
    "mode": "discard",
    "connector": "nixl",
    "recv_ns": 1_000 * MS,
    "recv_unix_ns": 9_001_000 * MS,
    "prefill_send_ns": 1_001 * MS,
    "prefill_done_ns": 1_101 * MS,
    "prefill_status": 200,
    "prompt_tokens": 565,
    "kv_params": {"do_remote_prefill": True, "remote_block_ids": 18, "remote_num_tokens": 565},
    "decode_send_ns": 1_103 * MS,
    "decode_status": 200,
    "decode_headers_ns": 1_110 * MS,
    "decode_first_chunk_ns": 1_160 * MS,
    "decode_last_chunk_ns": 1_300 * MS,
    "decode_chunks": 6,
    "end_ns": 1_301 * MS,
    "outcome": "done",
}
FORWARD = DISCARD | {"mode": "forward", "first_token_sent_ns": 1_102 * MS}
FIRST_CHUNK = ("decode_first_chunk_ns", "decode_last_chunk_ns")


def without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in names}


def one(folder: Path, line: dict[str, Any]) -> Row:
    reading = read_lines(ProxyLog(), folder, [line])
    assert reading.intake.rejects == []
    (row,) = reading.rows
    return row


def sample(name: str) -> Reading:
    return read(ProxyLog(), SAMPLES / "proxy-log" / name)


def spans(row: Row) -> dict[str, tuple[int, int]]:
    return {stage["name"]: (stage["start_ns"], stage["end_ns"]) for stage in row["stages"]}


def gateway_ns(row: Row) -> int:
    """From the prefill server's answer to the decode server's first chunk."""
    stamps = [mark["t_ns"] for mark in row["marks"] if mark["kind"] == "decode_first_token"]
    first_ns: int = stamps[0] if stamps else row["first_token_ns"]
    return first_ns - spans(row)["prefill"][1]


def test_discarded_first_token(tmp_path: Path) -> None:
    row = one(tmp_path, DISCARD)
    assert (row["vantage"], row["granularity"]) == ("gateway", "aggregate")
    assert (row["received_ns"], row["first_token_ns"]) == (1_000 * MS, 1_160 * MS)
    assert (row["last_token_ns"], row["stream_close_ns"]) == (1_300 * MS, 1_301 * MS)
    assert (row["last_prefill_token"], row["handoff_source"]) == (0, "log")
    assert spans(row) == {"prefill": (1_001 * MS, 1_101 * MS), "relay": (1_101 * MS, 1_103 * MS)}
    assert {stage["clock"] for stage in row["stages"]} == {row["clock"]}
    assert marks(row) == ["headers"]
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert (row["gaps_ns"], row["output_tokens"], row["token_counts"]) == (None, None, None)


def test_forwarded_first_token(tmp_path: Path) -> None:
    row = one(tmp_path, FORWARD)
    assert (row["first_token_ns"], row["last_prefill_token"]) == (1_102 * MS, 1)
    assert {"kind": "decode_first_token", "t_ns": 1_160 * MS} in row["marks"]
    assert row["last_token_ns"] == 1_300 * MS
    assert gateway_ns(row) == 59 * MS  # 1,160 - 1,101, as in the other mode


def test_ids_are_those_of_either_server_too(tmp_path: Path) -> None:
    assert dict(one(tmp_path, DISCARD)["ids"]) == {
        "x_request_id": "r",
        "x_request_id.prefill": "r-p",
        "x_request_id.decode": "r-d",
    }


def test_a_number_of_blocks_is_no_number_of_bytes(tmp_path: Path) -> None:
    row = one(tmp_path, DISCARD)
    assert row["kv_bytes"] is None
    assert dict(row["labels"]) == {"connector": "nixl", "kv_blocks": "18"}


def test_the_clock_is_set_against_wall_time(tmp_path: Path) -> None:
    # Wall is 9,000,000 ms ahead in two pairs and 2 ms more in one whose reading was delayed.
    late = DISCARD | {"request_id": "c", "recv_unix_ns": 9_001_002 * MS}
    lines = [DISCARD | {"request_id": "a"}, DISCARD | {"request_id": "b"}, late]
    reading = read_lines(ProxyLog(), tmp_path, lines)
    (clock,) = reading.intake.clocks
    assert (clock.id, clock.reference) == (reading.rows[0]["clock"], f"{clock.id}:wall")
    assert (clock.offset_ns, clock.uncertainty_ns) == (-9_000_000 * MS, 2 * MS)


def test_no_chunk_of_the_decode_server_is_a_failure_whatever_the_outcome(tmp_path: Path) -> None:
    refused = without(FORWARD | {"decode_status": 500, "decode_chunks": 0}, *FIRST_CHUNK)
    row = one(tmp_path, refused)
    assert (row["status"], row["error_kind"]) == ("failed", "http_500")
    # The client got the prefill server's token, and then waited for the next until the end.
    assert (row["first_token_ns"], row["last_token_ns"]) == (1_102 * MS, 1_102 * MS)
    assert (row["stream_close_ns"], row["quality"]) == (1_301 * MS, [])
    silent = one(tmp_path, without(DISCARD, *FIRST_CHUNK))
    assert (silent["status"], silent["error_kind"]) == ("failed", "no_decode_token")
    assert (silent["first_token_ns"], silent["last_token_ns"]) == (None, None)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(500, "failed", "http_500"), (503, "rejected", "http_503"), (None, "failed", "prefill_error")],
)
def test_a_request_that_the_prefill_server_did_not_answer(
    tmp_path: Path, code: int | None, status: str, kind: str
) -> None:
    of_decode = [name for name in FORWARD if name.startswith(("decode", "first"))]
    line = without(FORWARD, *of_decode, "kv_params", "prompt_tokens")
    row = one(tmp_path, line | {"outcome": "prefill_error", "prefill_status": code})
    assert (row["status"], row["error_kind"]) == (status, kind)
    assert [stage["name"] for stage in row["stages"]] == ["prefill"]
    assert row["first_token_ns"] is None


def test_a_request_that_came_again_is_another_attempt(tmp_path: Path) -> None:
    again = DISCARD | {"recv_ns": 2_000 * MS}
    reading = read_lines(ProxyLog(), tmp_path, [DISCARD, again, DISCARD | {"request_id": "s"}])
    assert [(row["request_id"], row["attempt"]) for row in reading.rows] == [
        ("r", 0),
        ("r", 1),
        ("s", 0),
    ]


@pytest.mark.parametrize(
    ("bad", "field", "value"),
    [
        (DISCARD | {"mode": "both"}, "mode", "both"),
        (DISCARD | {"outcome": "fine"}, "outcome", "fine"),
        (DISCARD | {"prefill_done_ns": 1.5}, "prefill_done_ns", None),
        (DISCARD | {"recv_ns": 2**62}, "recv_ns", None),
        (without(DISCARD, "request_id"), None, None),
        (FORWARD | {"prompt_tokens": -1}, "prompt_tokens", None),
        (FORWARD, "request_id", None),  # the same request as on the first line
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str | None, value: str | None
) -> None:
    reading = read_lines(ProxyLog(), tmp_path, [DISCARD, bad, DISCARD | {"request_id": "s"}])
    assert [row["request_id"] for row in reading.rows] == ["r", "s"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (2, field, value)


@pytest.mark.parametrize(
    ("name", "prefix", "requests", "median_ms", "longest_ms"),
    [
        ("proxy_pd_discard.jsonl", "pdd-", 50, 58.2, 539.5),
        ("proxy_pd_discard.jsonl", "sd-", 24, 26.8, 402.1),
        ("proxy_pd_forward.jsonl.gz", "pdf-", 50, 127.4, 1_068.9),
        ("proxy_pd_forward.jsonl.gz", "pdb-", 60, 199.4, 1_387.1),
        ("proxy_pd_forward.jsonl.gz", "sf-", 24, 36.2, 430.8),
        ("proxy_nixl_discard.jsonl", "pdd-", 49, 87.3, 3_533.3),
        ("proxy_nixl_forward.jsonl", "pdf-", 50, 968.4, 5_244.4),
        ("proxy_pd_decode_crash.jsonl", "pdb-", 16, 154.0, 884.1),
    ],
)
def test_handoff_at_the_gateway_as_it_was_worked_out_when_the_samples_were_made(
    name: str, prefix: str, requests: int, median_ms: float, longest_ms: float
) -> None:
    rows = [row for row in sample(name).rows if row["request_id"].startswith(prefix)]
    found = [gateway_ns(row) / MS for row in rows if row["status"] == "completed"]
    assert len(found) == requests
    assert round(median(found), 1) == median_ms
    assert round(max(found), 1) == longest_ms


def test_requests_whose_decode_server_died() -> None:
    reading = sample("proxy_pd_decode_crash.jsonl")
    assert reading.by_status() == {"completed": 16, "failed": 14}
    failed = {row["request_id"]: row for row in reading.rows if row["status"] == "failed"}
    assert sorted(failed) == sorted(f"pdb-{index}" for index in range(16, 30))
    kinds = [failed[f"pdb-{index}"]["error_kind"] for index in range(16, 30)]
    assert kinds == ["no_decode_token"] * 7 + ["http_500"] * 7
    for row in failed.values():
        assert row["first_token_ns"] == row["last_token_ns"] < row["stream_close_ns"]


@pytest.mark.parametrize("mode", ["forward", "discard"])
def test_the_proxy_stands_between_client_and_servers(mode: str) -> None:
    # Client and proxy ran on one host and read the same monotonic clock.
    (path,) = (SAMPLES / "proxy-log").glob(f"proxy_pd_{mode}.*")
    proxied = read(ProxyLog(), path).by_id()
    captured = read(Sse(), SAMPLES / "sse" / f"sse_pd_{mode}.jsonl.gz").rows
    assert len(captured) == 24
    for client in captured:
        gateway = proxied[client["request_id"]]
        assert client["sent_ns"] < gateway["received_ns"]
        assert gateway["first_token_ns"] < client["first_token_ns"]
        assert gateway["first_token_ns"] < gateway["last_token_ns"]
