"""Events are (time, JSON); expected values follow from the rules and the arithmetic shown."""

import json
from collections.abc import Iterable

import pytest

from tests.adapters.reading import Row, marks, times
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.transcript import EMPTY_LEFT_OUT, Transcript

MS = 1_000_000
DONE = "[DONE]"


def chat(
    content: str | None = None, *, index: int = 0, usage: int | None = None, **more: object
) -> str:
    delta: dict[str, object] = {k: more.pop(k) for k in ("role", "reasoning") if k in more}
    if content is not None:
        delta["content"] = content
    return _event({"index": index, "delta": delta, **more}, usage)


def text(content: str, *, index: int = 0, usage: int | None = None, **more: object) -> str:
    return _event({"index": index, "text": content, **more}, usage)


def _event(choice: dict[str, object], usage: int | None) -> str:
    running = {} if usage is None else {"usage": {"completion_tokens": usage}}
    return json.dumps({"id": "x-1", "choices": [choice], **running})


def final(tokens: int) -> str:
    return json.dumps({"choices": [], "usage": {"prompt_tokens": 16, "completion_tokens": tokens}})


def streams(events: Iterable[tuple[int, str]], *, streamed: bool = True) -> list[Row]:
    transcript = Transcript()
    for t_ms, event in events:
        transcript.add(t_ms * MS, event)
    base = Stream("a", "s:1", "truncated", sent_ns=0, streamed=streamed)
    (batch,) = record_batches(transcript.streams(base), "t")
    rows: list[Row] = batch.to_pylist()
    return rows


def only(events: Iterable[tuple[int, str]], *, streamed: bool = True) -> Row:
    (row,) = streams(events, streamed=streamed)
    return row


def test_a_role_event_is_not_a_token() -> None:
    # Tokens at 214, 224 and 234 ms; the role came at 5 ms.
    row = only(
        [
            (5, chat("", role="assistant")),
            (214, chat("a")),
            (224, chat("b")),
            (234, chat("c", finish_reason="stop")),
            (235, DONE),
        ]
    )
    assert row["first_token_ns"] == 214 * MS
    assert row["gaps_ns"] == [10 * MS, 10 * MS]
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")
    assert row["marks"] == [{"kind": "role", "t_ns": 5 * MS}, {"kind": "done", "t_ns": 235 * MS}]
    assert (row["status"], row["finish_reason"]) == ("completed", "stop")
    assert row["ids"] == [("sse_id", "x-1")]


def test_reasoning_tokens_are_tokens_and_the_first_answer_has_its_own_time() -> None:
    # Five tokens, 10 ms apart from 100 ms; the answer starts with the fourth.
    reasoning = [(100 + 10 * i, chat(reasoning="r")) for i in range(3)]
    row = only([*reasoning, (130, chat("a")), (140, chat("b"))])
    assert row["gaps_ns"] == [10 * MS] * 4
    assert row["first_answer_ns"] == 130 * MS


def test_an_answer_without_reasoning_before_it_has_no_time_of_its_own() -> None:
    assert only([(1, chat("a")), (2, chat(reasoning="r"))])["first_answer_ns"] is None


def test_events_after_the_last_token_do_not_extend_it() -> None:
    # Last token at 120 ms; finish, usage and terminator come later.
    row = only(
        [
            (100, chat("a")),
            (110, chat("b")),
            (120, chat("c")),
            (150, chat(finish_reason="length")),
            (170, final(3)),
            (171, DONE),
        ]
    )
    assert times(row)[-1] == 120 * MS
    assert marks(row) == ["finish", "usage", "done"]
    assert (row["output_tokens"], row["token_count_source"]) == (3, "usage")
    assert (row["prompt_tokens"], row["granularity"]) == (16, "token")


def test_a_finish_reason_on_a_token_is_a_token() -> None:
    row = only([(100, text("a")), (110, text("b", finish_reason="length"))])
    assert row["gaps_ns"] == [10 * MS]
    assert marks(row) == []


def test_running_usage_counts_each_event() -> None:
    # 1, 4 and 4 tokens: N = 9, one gap each of 20 ms.
    row = only(
        [
            (9, chat("", role="assistant", usage=0)),
            (10, chat("a", usage=1)),
            (30, chat("bcde", usage=5)),
            (50, chat("fghi", usage=9, finish_reason="length")),
            (50, final(9)),
        ]
    )
    assert row["token_counts"] == [1, 4, 4]
    assert row["output_tokens"] == 9
    assert row["granularity"] == "chunk"
    assert "count_mismatch" not in row["quality"]


def test_running_usage_makes_an_empty_text_a_token() -> None:
    row = only([(10, text("", usage=1)), (20, text("b", usage=2)), (30, text("", usage=2))])
    assert times(row) == [10 * MS, 20 * MS]
    assert marks(row) == ["empty"]


def test_token_ids_make_an_empty_text_a_token() -> None:
    row = only([(10, text("", token_ids=[7])), (20, text("bc", token_ids=[8, 9]))])
    assert times(row) == [10 * MS, 20 * MS]
    assert row["token_counts"] == [1, 2]
    assert (row["output_tokens"], row["token_count_source"]) == (3, "token_ids")


def test_a_token_may_come_in_the_role_event() -> None:
    row = only([(10, chat("", role="assistant", usage=1)), (20, chat("b", usage=2))])
    assert times(row) == [10 * MS, 20 * MS]
    assert marks(row) == []


def test_empty_texts_are_tokens_where_counting_them_gives_usage() -> None:
    events = [(10, text("a")), (20, text("")), (30, text("c")), (31, DONE)]
    assert times(only([*events, (32, final(3))])) == [10 * MS, 20 * MS, 30 * MS]
    assert times(only([*events, (32, final(2))])) == [10 * MS, 30 * MS]


def test_an_empty_finish_event_is_left_out_where_usage_says_so() -> None:
    events = [(10, text("a")), (20, text("")), (30, text("", finish_reason="stop"))]
    assert times(only([*events, (31, final(3))])) == [10 * MS, 20 * MS, 30 * MS]
    assert times(only([*events, (31, final(2))])) == [10 * MS, 20 * MS]


def test_empty_texts_that_nothing_proves_are_no_tokens_and_are_noted() -> None:
    row = only([(10, text("a")), (20, text("")), (30, text("c"))])
    assert times(row) == [10 * MS, 30 * MS]
    assert EMPTY_LEFT_OUT in row["quality"]
    assert "tokens_are_events" in row["quality"]


def test_usage_at_the_end_only_is_no_running_usage() -> None:
    # Some servers put the total on the last event with choices: 8 tokens in 2, split unknown.
    row = only(
        [(10, chat("abcd")), (20, chat("efgh")), (21, chat("", usage=8, finish_reason="stop"))]
    )
    assert times(row) == [10 * MS, 20 * MS]
    assert row["token_counts"] is None
    assert row["output_tokens"] == 8
    assert "count_mismatch" in row["quality"]


def test_a_running_usage_that_lags_does_not_split_the_tokens() -> None:
    row = only([(10, chat("a", usage=0)), (20, chat("b", usage=0)), (30, chat("c", usage=4))])
    assert times(row) == [10 * MS, 20 * MS, 30 * MS]
    assert row["token_counts"] is None
    assert row["output_tokens"] == 4


def test_a_token_handed_on_by_a_proxy_counts_one() -> None:
    # The proxy's own event has no count; the next running usage, 16, includes its token.
    row = only(
        [(10, text("")), (30, text("a", usage=16)), (40, text("b", usage=17)), (41, final(17))]
    )
    assert times(row) == [10 * MS, 30 * MS, 40 * MS]
    assert row["token_counts"] == [1, 15, 1]
    assert row["output_tokens"] == 17


def test_a_server_that_does_not_count_says_zero_and_is_not_believed() -> None:
    row = only([(10, text("a")), (20, text("b")), (21, final(0))])
    assert (row["output_tokens"], row["token_count_source"]) == (2, "events")


def test_choices_are_streams_of_their_own() -> None:
    # Each choice has a token every 20 ms; merged they would show 10 ms.
    events = [(100 + 10 * i, text("t", index=i % 2)) for i in range(6)]
    first, second = streams(events)
    assert (first["choice"], second["choice"]) == (0, 1)
    assert first["gaps_ns"] == second["gaps_ns"] == [20 * MS, 20 * MS]
    assert (first["output_tokens"], first["token_count_source"]) == (3, "events")


def test_usage_of_all_choices_proves_one_token_each_where_it_equals_the_events() -> None:
    events = [(100 + 10 * i, text("t", index=i % 2)) for i in range(6)]
    for row in streams([*events, (170, final(6))]):
        assert (row["output_tokens"], row["token_count_source"]) == (3, "usage")
        assert row["granularity"] == "token"
    for row in streams([*events, (170, final(9))]):
        assert (row["output_tokens"], row["token_count_source"]) == (3, "events")
        assert row["token_counts"] is None


def test_running_usage_of_several_choices_must_add_up() -> None:
    # Each choice counts for itself: 1 + 3 and 2 tokens, together the final 6.
    own = [
        (10, text("a", index=0, usage=1)),
        (20, text("bc", index=1, usage=2)),
        (30, text("def", index=0, usage=4)),
    ]
    first, second = streams([*own, (31, final(6))])
    assert (first["token_counts"], first["output_tokens"]) == ([1, 3], 4)
    assert (second["token_counts"], second["output_tokens"]) == ([2], 2)
    # The same readings, were they of all choices together, would end at 4: no split is known.
    first, second = streams([*own, (31, final(4))])
    assert first["token_counts"] is None
    assert "tokens_are_events" in first["quality"]
    assert second["output_tokens"] == 1


def test_an_error_object_makes_the_answer_failed_whatever_follows() -> None:
    # Three tokens, the error at 130 ms, the terminator after it.
    tokens = [(100 + 10 * i, text("t")) for i in range(3)]
    row = only([*tokens, (130, '{"error": {"message": "m", "code": 500}}'), (131, DONE)])
    assert (row["status"], row["error_kind"]) == ("failed", "in_band_error")
    assert row["gaps_ns"] == [10 * MS, 10 * MS]
    assert marks(row) == ["error", "done"]


def test_a_stream_without_any_end_mark_keeps_the_status_it_was_given() -> None:
    assert only([(100, text("a"))])["status"] == "truncated"


def test_a_finished_answer_without_tokens_has_none() -> None:
    row = only([(40, final(0)), (40, DONE)])
    assert row["status"] == "completed"
    assert row["first_token_ns"] is None
    assert (row["gaps_ns"], row["output_tokens"]) == ([], 0)


def test_a_body_that_was_not_streamed_is_one_delivery() -> None:
    body = {
        "choices": [{"index": 0, "message": {"content": "all of it"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1000},
    }
    row = only([(4760, json.dumps(body))], streamed=False)
    assert (row["first_token_ns"], row["gaps_ns"]) == (4760 * MS, [])
    assert (row["token_counts"], row["output_tokens"]) == ([1000], 1000)
    assert row["quality"] == ["not_streamed"]


def test_an_event_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(LineError, match="event: not JSON"):
        Transcript().add(0, '{"choices": [')


def test_what_a_server_reports_behind_the_answer_is_a_mark() -> None:
    # TensorRT-LLM's event `trtllm.perf_metrics` follows the terminator.
    timings = '{"Server-Timing": "server_queue;dur=1.250000"}'
    row = only([(10, text("a")), (20, text("b")), (21, DONE), (22, timings)])
    assert (row["status"], row["quality"]) == ("completed", ["tokens_are_events"])
    assert (row["gaps_ns"], marks(row)) == ([10 * MS], ["done", "other"])
    with pytest.raises(LineError, match="not an OpenAI-style answer"):
        streams([(10, text("a")), (20, timings)])
