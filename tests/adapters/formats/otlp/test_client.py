import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.otlp.building import Record, at, read, read_files, request, span
from tests.adapters.reading import SAMPLES, Row, times

FOLDER = SAMPLES / "otlp"
CHUNK = "gen_ai.content.completion.chunk"
SCOPE = "opentelemetry.instrumentation.openai.v1"
FACTS: dict[str, object] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m-asked",
    "gen_ai.response.model": "m",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.request.max_tokens": 30,
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.input.messages": "a prompt that must not be kept",
}


def call(chunks_ms: Sequence[float] = (), number: int = 1, name: str = CHUNK, **raw: Any) -> Record:
    """A call of 100 ms; `plain` replaces facts, None takes them out."""
    plain = FACTS | raw.pop("plain", {})
    return span(
        "openai.chat", 0, 100, number, events=[(name, t_ms) for t_ms in chunks_ms],
        plain={key: each for key, each in plain.items() if each is not None}, **raw,
    )  # fmt: skip


def one(folder: Path, *spans: Record, scope: str = SCOPE) -> Row:
    line = request(scope, spans, **{"service.instance.id": "app-1"})
    (row,) = read(folder, line).rows
    return row


def in_ms(row: Row) -> list[float]:
    return [(t_ns - at(0)) / 1e6 for t_ns in times(row)]


def test_the_columns_of_a_call(tmp_path: Path) -> None:
    row = one(tmp_path, call([10, 30]))
    assert (row["request_id"], row["vantage"]) == (f"{1:016x}", "client")
    assert (in_ms(row), row["sent_ns"], row["stream_close_ns"]) == ([10, 30], at(0), at(100))
    assert (row["clock"], row["clock_kind"]) == ("otel:app-1", "wall")
    assert (row["output_tokens"], row["token_count_source"]) == (2, "usage")
    assert (row["prompt_tokens"], row["requested_output_tokens"], row["model"]) == (7, 30, "m")
    assert (row["status"], row["finish_reason"], row["quality"]) == ("completed", "stop", [])
    assert dict(row["ids"]) == {
        "trace_id": f"{1:032x}", "span_id": f"{1:016x}", "sse_id": "chatcmpl-1",
    }  # fmt: skip
    assert "must not be kept" not in json.dumps(row, default=str)


def test_the_older_name_of_the_event(tmp_path: Path) -> None:
    row = one(tmp_path, call([10, 30], name="llm.content.completion.chunk"))
    assert in_ms(row) == [10, 30]


def test_more_events_than_tokens_are_a_mismatch(tmp_path: Path) -> None:
    row = one(tmp_path, call([9, 10, 30, 31]))
    assert (row["output_tokens"], row["token_counts"]) == (2, None)
    assert (row["granularity"], row["quality"]) == ("chunk", ["count_mismatch"])


@pytest.mark.parametrize(("dropped", "lost"), [(None, False), (0, False), ("3", True)])
def test_dropped_events_are_believed(tmp_path: Path, dropped: object, lost: bool) -> None:
    raw: dict[str, Any] = {} if dropped is None else {"droppedEventsCount": dropped}
    row = one(tmp_path, call([10, 30], **raw))
    assert (row["quality"] == ["events_lost", "first_events_lost"]) is lost


@pytest.mark.parametrize(("events", "suspect"), [(127, False), (128, True), (129, False)])
def test_without_a_count_exactly_the_limit_is_suspect(
    tmp_path: Path, events: int, suspect: bool
) -> None:
    printed = {
        "name": "openai.chat",
        "context": {"trace_id": "0x" + "01" * 16, "span_id": "0x" + "02" * 8},
        "parent_id": None,
        "start_time": "2026-11-29T11:29:29Z",
        "end_time": "2026-11-29T11:29:39Z",
        "status": {"status_code": "OK"},
        "attributes": {"gen_ai.usage.output_tokens": events},
        "events": [
            {"name": CHUNK, "timestamp": f"2026-11-29T11:29:30.{n:03}Z"} for n in range(events)
        ],
    }
    (row,) = read(tmp_path, printed).rows
    assert ("first_events_lost" in row["quality"]) is suspect
    assert ("events_lost" in row["quality"]) is suspect


def test_chunks_of_several_choices_are_no_series(tmp_path: Path) -> None:
    row = one(tmp_path, call([10, 30], plain={"gen_ai.request.choice.count": 2}))
    assert (row["gaps_ns"], row["first_token_ns"], row["granularity"]) == (
        None, at(10), "aggregate",
    )  # fmt: skip
    reasons = {"gen_ai.response.finish_reasons": ["stop", "length"]}
    assert one(tmp_path, call([10, 30], plain=reasons))["gaps_ns"] is None


def test_an_answer_that_was_not_streamed(tmp_path: Path) -> None:
    row = one(tmp_path, call(plain={"gen_ai.is_streaming": False}))
    assert (in_ms(row), row["quality"]) == ([100], ["not_streamed"])


def test_a_failed_call(tmp_path: Path) -> None:
    failed = call(status={"code": 2}, plain={"gen_ai.response.finish_reasons": None})
    assert (one(tmp_path, failed)["status"], one(tmp_path, failed)["error_kind"]) == (
        "failed", "error",
    )  # fmt: skip
    failed["events"] = [
        {"name": "exception", "timeUnixNano": str(at(90))}
        | {"attributes": [{"key": "exception.type", "value": {"stringValue": "APITimeoutError"}}]}
    ]
    assert one(tmp_path, failed)["error_kind"] == "APITimeoutError"


def test_without_a_finish_reason_the_end_was_not_seen(tmp_path: Path) -> None:
    row = one(tmp_path, call([10, 30], plain={"gen_ai.response.finish_reasons": None}))
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])


@pytest.mark.parametrize(
    ("plain", "first_ms"),
    [
        ({"gen_ai.response.time_to_first_chunk": 0.0125}, 12.5),
        ({"ai.response.msToFirstChunk": 12.5}, 12.5),
        ({"ai.stream.msToFirstChunk": 12.5}, 12.5),
        # T0 is 2025-11-29T10:40:00Z.
        ({"langfuse.observation.completion_start_time": "2025-11-29T10:40:00.0125Z"}, 12.5),
        ({"langfuse.observation.completion_start_time": '"2025-11-29T10:40:00.0125Z"'}, 12.5),
    ],
)
def test_when_the_first_chunk_came(
    tmp_path: Path, plain: dict[str, object], first_ms: float
) -> None:
    bare = dict.fromkeys(["gen_ai.operation.name"])
    row = one(tmp_path, call(plain=bare | plain), scope="some.library")
    assert (row["first_token_ns"], row["gaps_ns"]) == (at(first_ms), None)
    assert (row["granularity"], row["last_token_ns"]) == ("aggregate", None)
    assert row["quality"] == []


@pytest.mark.parametrize(
    ("seconds", "first_ms", "quality"),
    [
        (0.1, None, ["sentinel_dropped"]),  # the end stands for none
        (0.0, None, ["sentinel_dropped"]),
        (-0.5, -500, ["clock_contradiction"]),
    ],
)
def test_first_chunks_that_cannot_be(
    tmp_path: Path, seconds: float, first_ms: float | None, quality: list[str]
) -> None:
    row = one(tmp_path, call(plain={"gen_ai.response.time_to_first_chunk": seconds}))
    assert row["first_token_ns"] == (None if first_ms is None else at(first_ms))
    assert set(row["quality"]) == set(quality)


def test_vercels_names(tmp_path: Path) -> None:
    plain = dict.fromkeys(FACTS) | {
        "ai.response.msToFirstChunk": 5.0,
        "ai.model.id": "v",
        "ai.response.id": "resp",
        "ai.response.finishReason": "length",
        "ai.usage.inputTokens": 3,
        "ai.usage.outputTokens": 4,
    }
    row = one(tmp_path, call(plain=plain), scope="ai")
    assert (row["model"], row["finish_reason"]) == ("v", "length")
    assert (row["prompt_tokens"], row["output_tokens"]) == (3, 4)
    assert dict(row["ids"])["sse_id"] == "resp"


def test_of_two_spans_of_one_call_the_inner_one_counts(tmp_path: Path) -> None:
    outer = span("ChatOpenAI.chat", -5, 105, 2, plain=FACTS)
    line = request(SCOPE, [outer, call([10, 30], parent=2)])
    found = read(tmp_path, line)
    assert [row["request_id"] for row in found.rows] == [f"{1:016x}"]
    (reject,) = found.intake.rejects
    assert (reject.line, "same call" in reject.reason) == (1, True)


def test_a_span_that_was_exported_twice_is_one_row(tmp_path: Path) -> None:
    assert "duplicate_dropped" in one(tmp_path, call([10]), call([10]))["quality"]


@pytest.mark.parametrize("name", ["openllmetry_otlp", "openllmetry_spans"])
def test_samples(name: str) -> None:
    short, long = read_files([FOLDER / f"{name}.json"]).rows
    # 20 tokens came in 22 events; of the events of 300 tokens the last 128 are left.
    assert (short["output_tokens"], len(times(short))) == (20, 22)
    assert short["quality"] == ["count_mismatch"]
    assert (long["output_tokens"], len(times(long))) == (300, 128)
    assert long["quality"] == ["count_mismatch", "events_lost", "first_events_lost"]
    assert (short["prompt_tokens"], short["model"], short["finish_reason"]) == (7, "mock", "stop")


def test_the_printed_sample_loses_its_worst_gap() -> None:
    short, long = read_files([FOLDER / "openllmetry_spans.json"]).rows
    # Its recorder gives 138.6 ms for the whole answer; what is left of the long one shows 27.5.
    assert round(max(short["gaps_ns"]) / 1e6, 1) == 138.6
    assert round(max(long["gaps_ns"]) / 1e6, 1) == 27.5
    assert round((long["first_token_ns"] - long["sent_ns"]) / 1e6) == 1749
