from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.against_truth import errors
from tests.adapters.client_truth import Truth, by_sse_id
from tests.adapters.formats.guidellm.given import (
    INFO,
    MS,
    NEW,
    RUNS,
    TIMINGS,
    WALL_NS,
    WALL_S,
    new_report,
    raw,
    read_report,
    reported,
    requests,
    sample,
)
from tests.adapters.reading import Row, marks, times
from tokengap.adapters.formats.guidellm.facts import MEAN_GAP
from tokengap.adapters.formats.guidellm.v08 import LATENCY, MEAN_TIME, TTFT

CUT = {
    "status": "cancelled",
    "error": "Request was cancelled",
    "timings": TIMINGS | {"request_end": None, "last_request_iteration": WALL_S + 0.125},
}


def one(folder: Path, **changed: object) -> Row:
    (row,) = read_report(folder, new_report(requests(NEW | changed))).rows
    return row


def timed(**changed: object) -> dict[str, object]:
    return {"info": INFO | {"timings": TIMINGS | changed}}


def errored(error: str, *, tokens: int) -> dict[str, Any]:
    unset = dict.fromkeys(TIMINGS) | {"request_iterations": 0, "token_iterations": 0}
    kept = ("targeted_start", "request_start", "resolve_end")
    timings = unset | {name: TIMINGS[name] for name in kept} if not tokens else TIMINGS
    info = INFO | {"status": "errored", "error": error, "timings": timings | {"request_end": None}}
    none = {"response_id": None, "request_args": None, "output_metrics": {"total_tokens": None}}
    return none | {"info": info, "output_tokens": tokens or None, "request_latency": None}


def test_the_columns_of_a_request(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["trace"], row["request_id"], row["ids"]) == ("run", "gt-1", [("sse_id", "gt-1")])
    assert (row["vantage"], row["clock_kind"]) == ("client", "wall")
    assert row["source"] == f"{row['clock']}:0"
    assert (row["planned_ns"], row["sent_ns"]) == (WALL_NS - 250 * MS, WALL_NS)
    assert row["first_token_ns"] == WALL_NS + 62_500_000
    assert row["last_token_ns"] == WALL_NS + 125 * MS
    assert row["stream_close_ns"] == WALL_NS + 187_500_000
    assert (row["prompt_tokens"], row["cached_prompt_tokens"]) == (24, 16)
    assert (row["output_tokens"], row["token_count_source"]) == (5, "usage")
    assert (row["model"], row["requested_output_tokens"]) == ("m", 8)
    assert dict(row["labels"]) == {
        "strategy": "constant",
        "rate": "2.5",
        "session": "c-1",
        "turn": "2",
    }
    assert marks(row) == ["first_event", "last_event"]
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert "secret" not in str(row)


def test_of_the_gaps_nothing_is_made_up(tmp_path: Path) -> None:
    row = one(tmp_path)
    assert (row["granularity"], row["gaps_ns"], row["token_counts"]) == ("aggregate", None, None)


def test_the_tools_own_numbers_have_their_formulas(tmp_path: Path) -> None:
    # (125 - 62.5) / (5 - 1) = 15.625 ms; 125 / 5 = 25 ms with the first wait in it.
    assert reported(one(tmp_path)) == {
        ("ttft", TTFT): 62_500_000,
        ("tpot", MEAN_GAP): 15_625_000,
        ("tpot", MEAN_TIME): 25 * MS,
        ("e2e", LATENCY): 187_500_000,
    }


@pytest.mark.parametrize(
    ("events", "last_s", "gaps"),
    [(1, 0.0625, []), (2, 0.125, [62_500_000]), (3, 0.125, None), (5, 0.0625, [])],
)
def test_one_or_two_events_are_known_whole(
    tmp_path: Path, events: int, last_s: float, gaps: list[int] | None
) -> None:
    row = one(tmp_path, **timed(token_iterations=events, last_token_iteration=WALL_S + last_s))
    assert (row["gaps_ns"], row["output_tokens"]) == (gaps, 5)
    assert row["first_token_ns"] == WALL_NS + 62_500_000
    assert (row["last_token_ns"] is None) == (gaps is not None)


def test_without_usage_events_are_counted(tmp_path: Path) -> None:
    row = one(tmp_path, output_metrics={"total_tokens": None})
    assert (row["output_tokens"], row["token_count_source"]) == (5, "events")


def test_answer_text_after_reasoning_has_its_own_time(tmp_path: Path) -> None:
    assert one(tmp_path)["first_answer_ns"] is None
    row = one(tmp_path, **timed(first_output_token_iteration=WALL_S + 0.09375))
    assert row["first_answer_ns"] == WALL_NS + 93_750_000


def test_a_first_event_that_is_a_token_is_no_mark(tmp_path: Path) -> None:
    row = one(tmp_path, **timed(first_request_iteration=WALL_S + 0.0625))
    assert marks(row) == ["last_event"]


def test_a_body_that_was_not_streamed_is_one_delivery(tmp_path: Path) -> None:
    unset = dict.fromkeys(name for name in TIMINGS if name.endswith("_iteration"))
    row = one(tmp_path, **timed(**unset, token_iterations=0, request_iterations=0))
    assert (times(row), row["output_tokens"]) == ([WALL_NS + 187_500_000], 5)
    assert row["quality"] == ["end_not_seen", "not_streamed"]


HTTP_500 = (
    "HTTPStatusError(\"Server error '500 Internal Server Error' for url 'http://h/v1'\\nFor more\")"
)
HTTP_429 = "HTTPStatusError(\"Client error '429 Too Many Requests' for url 'http://h/v1'\\nFor\")"
IN_BAND = "ValueError('Streaming response returned an error: secret')"
BROKEN = "RemoteProtocolError('peer closed connection (incomplete chunked read)')"


@pytest.mark.parametrize(
    ("error", "tokens", "status", "kind"),
    [
        (HTTP_500, 0, "failed", "http_500"),
        (HTTP_429, 0, "rejected", "http_429"),
        (BROKEN, 5, "failed", "RemoteProtocolError"),
        (IN_BAND, 5, "failed", "in_band_error"),
        ("ReadTimeout('')", 5, "timed_out", "ReadTimeout"),
    ],
)
def test_a_failed_request_keeps_what_it_had(
    tmp_path: Path, error: str, tokens: int, status: str, kind: str
) -> None:
    row = one(tmp_path, **errored(error, tokens=tokens))
    assert (row["status"], row["error_kind"]) == (status, kind)
    assert (row["request_id"], row["ids"]) == ("u-1", [])
    assert (row["output_tokens"], row["token_count_source"]) == (tokens, "events")
    assert (row["gaps_ns"] == []) == (tokens == 0)
    assert (row["stream_close_ns"], row["quality"]) == (WALL_NS + 250 * MS, [])
    assert "secret" not in str(row)


def test_a_request_that_was_cut_keeps_what_it_had(tmp_path: Path) -> None:
    row = one(tmp_path, info=INFO | CUT)
    assert (row["status"], row["error_kind"], row["output_tokens"]) == ("cancelled", None, 5)
    assert row["stream_close_ns"] == WALL_NS + 250 * MS
    assert marks(row) == ["first_event"]


def test_a_request_that_was_never_sent_has_no_time_but_the_plan(tmp_path: Path) -> None:
    kept = {"targeted_start": WALL_S - 0.25, "resolve_end": WALL_S + 0.25}
    unset = dict.fromkeys(TIMINGS) | {"request_iterations": 0, "token_iterations": 0} | kept
    info = INFO | {"status": "cancelled", "timings": unset}
    row = one(tmp_path, info=info, output_tokens=None, output_metrics={"total_tokens": None})
    assert (row["sent_ns"], row["planned_ns"]) == (None, WALL_NS - 250 * MS)
    assert (row["gaps_ns"], row["first_token_ns"]) == ([], None)


def test_a_request_that_had_not_ended_is_in_flight(tmp_path: Path) -> None:
    assert one(tmp_path, info=INFO | {"status": "in_progress"})["status"] == "in_flight"


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        (timed(request_start="1"), "info.timings.request_start", None),
        (timed(request_start=1e300), "request_start", "1e+300"),
        ({"info": INFO | {"status": None}}, "info.status", None),
        ({"output_tokens": -1}, "output_tokens", None),
        ({"inter_token_latency_ms": 1e300}, "inter_token_latency_ms", "1e+300"),
        ({"request_id": None}, "request_id", None),
    ],
)
def test_a_request_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, changed: dict[str, object], field: str, value: str | None
) -> None:
    reading = read_report(tmp_path, new_report(requests(NEW, NEW | changed, errored=[NEW])))
    assert [row["request_id"] for row in reading.rows] == ["gt-1", "gt-1#2"]
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (1, field, value)


# Against what the server did, as the formats' description gives it: n, medians of reported less
# true TTFT and TPOT in ms, and by how much the mean hides the worst gap (median and most).
TABLE = {
    "single_chat": (40, 1.9, -0.02, 14.3, 114.8),
    "multi3_chat": (30, 1.6, -0.016, 34, 122),
    "slow_cut_chat": (8, 1.5, -0.02, None, None),
}


def pairs(run: str) -> list[tuple[Row, Truth]]:
    truth = by_sse_id(RUNS / run / "truth.jsonl.gz")
    found = [(row, dict(row["ids"]).get("sse_id")) for row in sample(run).rows]
    return [(row, truth[sse_id]) for row, sse_id in found if sse_id is not None]


@pytest.mark.parametrize("run", TABLE)
def test_the_runs_are_as_far_from_the_truth_as_was_measured_apart(run: str) -> None:
    completed, ttft, tpot, hidden, most_hidden = TABLE[run]
    found = errors(pairs(run), 35 * MS)
    assert len(found.ttft) == completed
    assert found.medians(1)[0] == ttft
    assert found.medians(3)[1] == pytest.approx(tpot, abs=0.0006)
    assert found.worst_gap == []
    if hidden is not None:
        over = sorted(
            (truth.worst_gap_ns - reported(row)["tpot", MEAN_GAP]) / MS for row, truth in pairs(run)
        )
        assert (over[len(over) // 2], over[-1]) == pytest.approx((hidden, most_hidden), abs=0.6)


@pytest.mark.parametrize("run", ["single_chat", "multi3_chat", "roleusage_chat", "slow_cut_chat"])
def test_the_worst_gap_is_within_the_bounds_that_the_row_gives(run: str) -> None:
    # No shorter than the mean, no longer than from first to last; both within a pause of delivery.
    for row, truth in pairs(run):
        if row["gaps_ns"] is None and row["status"] == "completed":
            span_ns = row["last_token_ns"] - row["first_token_ns"]
            assert span_ns / (row["output_tokens"] - 1) - MS < truth.worst_gap_ns < span_ns


def test_how_the_requests_of_the_faulty_run_ended() -> None:
    # req % 8 is 2: HTTP 500; 4: HTTP 429; 6: connection reset; 7: error object inside the answer.
    reading = sample("faults_chat")
    assert reading.by_status() == {"completed": 20, "failed": 15, "rejected": 5}
    kinds = [row["error_kind"] for row in reading.rows]
    expected = {
        None: 20,
        "http_500": 5,
        "http_429": 5,
        "RemoteProtocolError": 5,
        "in_band_error": 5,
    }
    assert {kind: kinds.count(kind) for kind in expected} == expected
    assert len({row["request_id"] for row in reading.rows}) == 40


def test_cut_requests_are_cancelled_and_hold_the_tokens_that_came() -> None:
    assert sample("slow_cut_chat").by_status() == {"cancelled": 3, "completed": 8}
    cut = [(row, truth) for row, truth in pairs("slow_cut_chat") if row["status"] == "cancelled"]
    for row, truth in cut:
        assert row["output_tokens"] <= truth.tokens
        assert row["last_token_ns"] < row["stream_close_ns"]
    assert len(cut) == 2


@pytest.mark.parametrize("run", ["single_chat", "faults_chat"])
def test_every_time_is_the_files_own_rounded_once(run: str) -> None:
    found = raw(run)
    records = [*found["successful"], *found["errored"], *found["incomplete"]]
    for row, record in zip(sample(run).rows, records, strict=True):
        timings = record["info"]["timings"]
        assert row["planned_ns"] == round(Fraction(timings["targeted_start"]) * 10**9)
        assert row["sent_ns"] == round(Fraction(timings["request_start"]) * 10**9)
        if row["last_token_ns"] is not None:
            assert row["last_token_ns"] == round(Fraction(timings["last_token_iteration"]) * 10**9)
