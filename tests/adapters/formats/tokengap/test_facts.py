"""Status, marks and facts of a stream in tokengap's own log."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.tokengap.own_log import event, read_own, stream, the_row
from tests.adapters.reading import marks, times

STAGE = ("name", "start_ns", "end_ns", "duration_ns", "worker", "clock")
TOKENS = (event(10), event(20))


@pytest.mark.parametrize(
    ("lines", "status", "close_ns"),
    [
        ([event(30, "done")], "completed", 30),
        ([event(30, "finish")], "completed", None),
        ([event(30, "finish"), event(31, "done")], "completed", 31),
        ([event(30, "error"), event(31, "done")], "failed", 31),
        ([event(30, "done"), event(31, "error")], "failed", 31),
        ([event(30, "cancelled"), event(31, "done")], "cancelled", 31),
        ([event(30, "done"), event(31, "cancelled")], "completed", 31),
        ([event(30, "timed_out")], "timed_out", 30),
        ([event(30, "rejected")], "rejected", 30),
        ([event(30, "truncated")], "truncated", 30),
        ([event(30, "in_flight")], "in_flight", 30),
        ([event(30, "keepalive", status="failed")], "failed", None),
        ([event(30, "done", stream_close_ns=40)], "completed", 40),
    ],
)
def test_the_status_comes_from_how_the_stream_ended(
    tmp_path: Path, lines: list[Any], status: str, close_ns: int | None
) -> None:
    row = the_row(tmp_path, *TOKENS, *lines)
    assert (row["status"], row["stream_close_ns"]) == (status, close_ns)
    assert times(row) == [10, 20]
    assert "end_not_seen" not in row["quality"]


def test_without_any_end_in_the_log_a_stream_with_tokens_counts_as_completed(
    tmp_path: Path,
) -> None:
    rows = read_own(tmp_path, *TOKENS, event(5, "sent", "b")).by_id()
    assert (rows["a"]["status"], rows["b"]["status"]) == ("completed", "truncated")
    assert "end_not_seen" in rows["a"]["quality"]
    assert "end_not_seen" not in rows["b"]["quality"]


def test_where_others_have_an_end_a_stream_without_one_is_truncated(tmp_path: Path) -> None:
    rows = read_own(tmp_path, *TOKENS, event(30, "done", "b")).by_id()
    assert rows["a"]["status"] == "truncated"
    assert "end_not_seen" not in rows["a"]["quality"]


def test_a_stated_status_wins_over_another_end_and_the_conflict_is_noted(tmp_path: Path) -> None:
    row = the_row(tmp_path, *TOKENS, event(30, "done", status="timed_out"))
    assert row["status"] == "timed_out"
    assert "fact_conflict" in row["quality"]


def test_origins_are_no_marks(tmp_path: Path) -> None:
    kinds = ("planned", "sent", "received", "arrival")
    lines = [event(number, kind) for number, kind in enumerate(kinds)]
    row = the_row(tmp_path, *lines, *TOKENS)
    assert [row[f"{kind}_ns"] for kind in kinds] == [0, 1, 2, 3]
    assert row["marks"] == []


def test_marks_are_kept_by_time_and_only_once(tmp_path: Path) -> None:
    lines = [event(12, "keepalive"), event(8, "role"), event(12, "keepalive"), event(25, "usage")]
    row = the_row(tmp_path, *TOKENS, *lines, event(15, "preempted"), event(30, "done"))
    assert marks(row) == ["role", "keepalive", "preempted", "usage", "done"]
    assert "duplicate_dropped" in row["quality"]
    assert times(row) == [10, 20]


FACTS: dict[str, Any] = {
    "error_kind": "Timeout", "finish_reason": "stop", "deployment": "eu", "model": "m",
    "tenant": "x", "slo_class": "chat", "prompt_tokens": 7, "cached_prompt_tokens": 3,
    "requested_output_tokens": 9, "prefill_worker": "p0", "decode_worker": "d0",
    "kv_bytes": 5_000_000_000, "clock_kind": "wall", "planned_ns": 1, "sent_ns": 2,
    "received_ns": 3, "arrival_ns": 4, "stream_close_ns": 50, "first_answer_ns": 15,
    "last_prefill_token": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "lines", [[*TOKENS, event(5, "headers", **FACTS)], [stream([10, 20], **FACTS)]]
)
def test_every_fact_becomes_a_column(tmp_path: Path, lines: list[Any]) -> None:
    row = the_row(tmp_path, *lines)
    assert {name: row[name] for name in FACTS} == FACTS
    assert row["handoff_source"] == "log"


def test_a_fact_may_stand_on_a_token_or_on_each_of_them(tmp_path: Path) -> None:
    lines = [event(10 + n, index=n, model="m", tenant="x", n_tokens=1) for n in range(5)]
    other = [event(10 + n, request_id="b", index=n, model="n", n_tokens=1) for n in range(3)]
    rows = read_own(tmp_path, *lines, *other).by_id()
    assert [(rows[r]["model"], rows[r]["tenant"]) for r in "ab"] == [("m", "x"), ("n", None)]
    assert [rows[r]["output_tokens"] for r in "ab"] == [5, 3]
    assert all("fact_conflict" not in row["quality"] for row in rows.values())


def test_of_two_values_the_first_stands_and_the_conflict_is_noted(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(10, model="m"), event(20, model="n"), event(30, model="m"))
    assert row["model"] == "m"
    assert "fact_conflict" in row["quality"]
    assert times(row) == [10, 20, 30]


def test_ids_and_labels_are_put_together(tmp_path: Path) -> None:
    first = event(1, "sent", ids={"x_request_id": "r", "bootstrap_room": "7"}, labels={"n": "1"})
    last = event(30, "done", ids={"sse_id": "s"}, labels={"n": "2", "m": "3"})
    row = the_row(tmp_path, first, *TOKENS, last)
    assert dict(row["ids"]) == {"x_request_id": "r", "bootstrap_room": "7", "sse_id": "s"}
    assert dict(row["labels"]) == {"n": "1", "m": "3"}
    assert "fact_conflict" in row["quality"]


def test_no_handoff_is_known_to_be_none(tmp_path: Path) -> None:
    row = the_row(tmp_path, *TOKENS, event(5, "headers", handoff_source="none"))
    assert (row["handoff_source"], row["last_prefill_token"]) == ("none", None)
    row = the_row(tmp_path, *TOKENS)
    assert (row["handoff_source"], row["last_prefill_token"]) == (None, None)


@pytest.mark.parametrize(("first", "source", "k"), [("none", "none", None), ("k", "log", 1)])
def test_a_handoff_and_none_contradict(
    tmp_path: Path, first: str, source: str, k: int | None
) -> None:
    none, some = event(5, "headers", handoff_source="none"), event(6, "role", last_prefill_token=1)
    row = the_row(tmp_path, *TOKENS, *((none, some) if first == "none" else (some, none)))
    assert (row["handoff_source"], row["last_prefill_token"]) == (source, k)
    assert "fact_conflict" in row["quality"]


def test_stages_get_their_clock_and_their_duration(tmp_path: Path) -> None:
    stages = [
        {"name": "prefill", "start_ns": 1, "end_ns": 9, "worker": "p0"},
        {"name": "kv_transfer", "duration_ns": 3},
        {"name": "relay", "start_ns": 2, "end_ns": 4, "duration_ns": 2, "clock": "other"},
    ]
    row = the_row(tmp_path, stream([10, 20], clock="c", stages=stages))
    assert row["stages"] == [
        dict(zip(STAGE, stage, strict=True))
        for stage in [
            ("prefill", 1, 9, 8, "p0", "c"),
            ("kv_transfer", None, None, 3, None, None),
            ("relay", 2, 4, 2, None, "other"),
        ]
    ]


def test_a_stage_logged_twice_is_one(tmp_path: Path) -> None:
    stage = {"name": "queue", "duration_ns": 5}
    lines = [event(n, "keepalive", stages=[stage]) for n in (11, 12)]
    row = the_row(tmp_path, *TOKENS, *lines, event(13, "done", stages=[stage | {"worker": "d0"}]))
    assert [one["worker"] for one in row["stages"]] == [None, "d0"]


@pytest.mark.parametrize(
    ("stated", "total", "source"),
    [
        ({"output_tokens": 6}, 6, "usage"),
        ({"output_tokens": 6, "token_count_source": "token_ids"}, 6, "token_ids"),
        ({"output_tokens": 6, "token_count_source": "retokenised"}, 6, "retokenised"),
        # a recount that gives some event no token is not believed
        ({"output_tokens": 1, "token_count_source": "retokenised"}, 2, "events"),
    ],
)
def test_the_total_and_where_it_comes_from(
    tmp_path: Path, stated: dict[str, Any], total: int, source: str
) -> None:
    row = the_row(tmp_path, *TOKENS, event(30, "usage", **stated))
    assert (row["output_tokens"], row["token_count_source"]) == (total, source)


def test_an_answer_that_was_not_streamed_is_one_delivery(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(20, "text"), event(20, "done", streamed=False, output_tokens=9))
    assert row["output_tokens"] == 9
    assert row["gaps_ns"] == []
    assert "not_streamed" in row["quality"]
