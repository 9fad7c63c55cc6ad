import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.both_ways import both_ways, spoilt
from tests.adapters.reading import Reading, Row, marks, read_lines, times
from tokengap.adapters.formats.sse.capture import Sse
from tokengap.adapters.interface import Head

MS = 1_000_000
WALL_NS = 1_795_951_800_000_000_000

Line = dict[str, Any]


def line(kind: str, t_ms: int, request_id: str | None = "a", **more: object) -> Line:
    return {"kind": kind, "request_id": request_id, "t_ns": t_ms * MS, **more}


def request(t_ms: int = 0, request_id: str = "a", **more: object) -> Line:
    body = {"model": "tiny", "max_tokens": 8, "prompt": "secret", "stream": True}
    wall_ns = WALL_NS + t_ms * MS
    return line("request", t_ms, request_id, t_unix_ns=wall_ns, url_path="/v1/c", body=body, **more)


def token(t_ms: int, seq: int, request_id: str = "a", **choice: object) -> Line:
    return data(t_ms, seq, {"choices": [{"index": 0, "text": "w", **choice}]}, request_id)


def data(t_ms: int, seq: int, payload: object, request_id: str = "a") -> Line:
    raw = payload if isinstance(payload, str) else json.dumps(payload)
    return line("data", t_ms, request_id, seq=seq, read=seq, raw=raw)


def end(t_ms: int, outcome: str, request_id: str = "a") -> Line:
    return line("end", t_ms, request_id, outcome=outcome)


def capture(folder: Path, *lines: object) -> Reading:
    return read_lines(Sse(), folder, lines)


def one(folder: Path, *lines: object) -> Row:
    (row,) = capture(folder, *lines).rows
    return row


def test_the_columns_of_a_request(tmp_path: Path) -> None:
    row = one(
        tmp_path,
        request(),
        line("headers", 5, status=200, content_type="text/event-stream"),
        line("line", 9, seq=0, read=0, raw=": ping"),
        token(40, 1),
        token(50, 2, finish_reason="length"),
        data(55, 3, "[DONE]"),
        end(56, "done"),
    )
    assert (row["request_id"], row["attempt"], row["choice"]) == ("a", 0, 0)
    assert row["source"] == f"{row['clock']}:1"
    assert (row["clock_kind"], row["vantage"]) == ("monotonic", "client")
    assert (row["sent_ns"], row["stream_close_ns"]) == (0, 55 * MS)
    assert times(row) == [40 * MS, 50 * MS]
    assert marks(row) == ["headers", "keepalive", "done"]
    assert (row["model"], row["requested_output_tokens"]) == ("tiny", 8)
    assert (row["status"], row["finish_reason"]) == ("completed", "length")
    assert dict(row["labels"]) == {"path": "/v1/c"}
    assert "secret" not in str(row)


@pytest.mark.parametrize(
    ("lines", "status", "kind", "close_ms"),
    [
        ([token(40, 0), end(60, "eof")], "truncated", None, 60),
        ([token(40, 0, finish_reason="stop"), end(60, "eof")], "completed", None, 60),
        ([token(40, 0), line("cancel", 50), end(60, "cancelled")], "cancelled", None, 50),
        (
            [token(40, 0), line("exception", 50, raw="ClientError: lost"), end(60, "exception")],
            "failed",
            "ClientError",
            50,
        ),
        (
            [line("exception", 50, raw="TimeoutError"), end(60, "exception")],
            "timed_out",
            "TimeoutError",
            50,
        ),
        (
            [
                line("headers", 5, status=429),
                line("body", 6, raw="slow down"),
                end(7, "http_error"),
            ],
            "rejected",
            "http_429",
            6,
        ),
        (
            [
                line("headers", 5, status=503),
                line("body", 6, raw='{"error": {"type": "Overloaded"}}'),
                end(7, "http_error"),
            ],
            "rejected",
            "Overloaded",
            6,
        ),
        ([line("headers", 5, status=500), end(7, "http_error")], "failed", "http_500", 7),
        ([end(7, "http_error")], "failed", "http_error", 7),
        ([end(7, "exception")], "failed", "exception", 7),
        (
            [
                token(40, 0),
                data(50, 1, {"error": {"message": "m"}}),
                data(51, 2, "[DONE]"),
                end(52, "done"),
            ],
            "failed",
            "in_band_error",
            51,
        ),
        ([token(40, 0)], "in_flight", None, 40),
    ],
)
def test_how_a_request_ended(
    tmp_path: Path, lines: list[Line], status: str, kind: str | None, close_ms: int
) -> None:
    row = one(tmp_path, request(), *lines)
    assert (row["status"], row["error_kind"]) == (status, kind)
    assert row["stream_close_ns"] == close_ms * MS


def test_a_request_still_open_waits_until_the_last_line_of_the_file(tmp_path: Path) -> None:
    reading = capture(tmp_path, request(), token(40, 0), request(70, "b"), end(90, "eof", "b"))
    assert reading.by_id()["a"]["stream_close_ns"] == 90 * MS


def test_interleaved_requests_are_told_apart(tmp_path: Path) -> None:
    reading = capture(
        tmp_path,
        request(0, "a"),
        request(1, "b"),
        token(10, 0, "a"),
        token(15, 0, "b"),
        token(20, 1, "a"),
        token(25, 1, "b"),
        end(26, "eof", "b"),
        end(27, "eof", "a"),
    )
    assert [row["request_id"] for row in reading.rows] == ["b", "a"]
    assert [row["gaps_ns"] for row in reading.rows] == [[10 * MS], [10 * MS]]


def test_a_second_request_line_is_the_next_attempt(tmp_path: Path) -> None:
    reading = capture(
        tmp_path,
        request(0),
        end(10, "eof"),
        request(20),
        token(30, 0),
        request(40),
        token(50, 0, finish_reason="stop"),
        end(51, "done"),
    )
    found = [(row["attempt"], row["status"], row["sent_ns"]) for row in reading.rows]
    assert found == [
        (0, "truncated", 0),
        (1, "truncated", 20 * MS),
        (2, "completed", 40 * MS),
    ]


def test_a_capture_may_join_a_request_under_way(tmp_path: Path) -> None:
    row = one(tmp_path, token(40, 7), token(50, 8, finish_reason="stop"), end(51, "done"))
    assert (row["sent_ns"], row["gaps_ns"]) == (None, [10 * MS])
    assert "events_lost" in row["quality"]


def test_a_line_that_was_shipped_twice_counts_once(tmp_path: Path) -> None:
    row = one(tmp_path, request(), token(40, 0), token(40, 0), token(50, 1), end(60, "eof"))
    assert row["output_tokens"] == 2
    assert "duplicate_dropped" in row["quality"]
    assert "events_lost" not in row["quality"]


def test_a_request_line_that_was_shipped_twice_is_no_new_attempt(tmp_path: Path) -> None:
    row = one(tmp_path, request(), request(), token(40, 0), end(60, "eof"))
    assert (row["attempt"], row["output_tokens"]) == (0, 1)
    assert "duplicate_dropped" in row["quality"]


def test_a_line_with_the_number_of_another_is_rejected(tmp_path: Path) -> None:
    reading = capture(tmp_path, request(), token(40, 0), token(45, 0), token(50, 1), end(60, "eof"))
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.reason) == (3, "`seq` was there before, with another time")
    assert times(reading.rows[0]) == [40 * MS, 50 * MS]


def test_a_hole_in_the_numbers_is_a_lost_event(tmp_path: Path) -> None:
    row = one(tmp_path, request(), token(40, 0), token(60, 2), end(61, "eof"))
    assert row["gaps_ns"] == [20 * MS]
    assert "events_lost" in row["quality"]


@pytest.mark.parametrize(
    ("bad", "reason", "lost"),
    [
        (b"x", "not JSON", {"a", "b"}),
        (b'{"kind": "data", "kind": "data"}', 'key "kind" appears twice', {"a", "b"}),
        (token(45, 1) | {"t_ns": 45.5}, "t_ns: whole nanoseconds", {"a"}),
        (token(45, 1) | {"t_ns": True}, "t_ns: whole nanoseconds", {"a"}),
        (data(45, 1, "{"), "event: not JSON", {"a"}),
        (data(45, 1, {"type": "ping"}), "event: no `choices`", {"a"}),
        (line("mystery", 45), "unknown kind of line 'mystery'", set()),
        (line("end", 45, outcome="fine"), "outcome: one of done, eof, cancelled", set()),
        (line("headers", 45, status="200"), "status: Expected `int | null`", {"a", "b"}),
        (line("data", 45, None, raw="[DONE]"), "request_id: missing", {"a", "b"}),
        (token(45, 0, "ended"), "belongs to no open request", set()),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, reason: str, lost: set[str]
) -> None:
    reading = capture(
        tmp_path,
        request(0, "ended"),
        end(1, "eof", "ended"),
        request(2, "a"),
        request(3, "b"),
        token(40, 0, "a"),
        bad,
        token(50, 1, "b") | {"seq": 0},
        end(60, "eof", "a"),
        end(61, "eof", "b"),
    )
    (reject,) = reading.intake.rejects
    assert reject.line == 6
    assert reject.reason.startswith(reason)
    assert len(reading.rows) == 3
    assert {row["request_id"] for row in reading.rows if "events_lost" in row["quality"]} == lost


def test_notes_are_no_requests(tmp_path: Path) -> None:
    reading = capture(tmp_path, line("note", 5, None, raw="killed"), request(6), end(7, "eof"))
    assert len(reading.rows) == 1
    assert reading.intake.rejects == []


def test_one_wall_offset_per_file(tmp_path: Path) -> None:
    # The second pair was read 40 ns late, the third 2 ns.
    pairs = [(0, 0), (10, 40), (20, 2)]
    lines = [request(t, str(t)) | {"t_unix_ns": WALL_NS + t * MS + late} for t, late in pairs]
    (clock,) = capture(tmp_path, *lines).intake.clocks
    assert (clock.offset_ns, clock.uncertainty_ns) == (-(WALL_NS + 2), 38)


def test_a_capture_is_recognised_and_other_event_lines_are_not() -> None:
    def missing(found: Line) -> tuple[str, ...]:
        return Sse().sniff(Head(json.dumps(found).encode())).missing

    assert missing(request()) == missing(token(40, 0)) == missing(line("note", 1, raw="x")) == ()
    own = {"request_id": "a", "t_ns": 5, "kind": "text", "n_tokens": 1}
    assert missing(own) == ("url_path|raw|content_type",)


def test_reading_in_bulk_and_line_by_line_agree_on_whatever_is_written(tmp_path: Path) -> None:
    lines: list[object] = []
    for place in range(4):
        begin: list[Line] = [request(0, "@id@"), line("headers", 5, "@id@", status=200)]
        begin += [token(40, 0, "@id@"), token(50, 1, "@id@"), end(60, "done", "@id@")]
        for number, text in enumerate(spoilt(begin[place])):
            exchange = [*map(json.dumps, begin[:place]), text, *map(json.dumps, begin[place + 1 :])]
            lines += [each.replace("@id@", f"r{place}-{number}") for each in exchange]
    reading = both_ways(Sse(), "tokengap.adapters.formats.sse.entry", tmp_path, lines)
    assert len(reading.rows) > len(lines) // 10
    assert len(reading.intake.rejects) > len(lines) // 50
