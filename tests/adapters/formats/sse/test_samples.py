"""The samples: expected values from the description of what was asked of the server."""

import pytest

from tests.adapters.reading import SAMPLES, Reading, marks, read, times
from tokengap.adapters.formats.sse.capture import Sse
from tokengap.adapters.shared.transcript import EMPTY_LEFT_OUT

MS = 1_000_000


def sample(name: str) -> Reading:
    return read(Sse(), SAMPLES / "sse" / f"{name}.jsonl.gz")


@pytest.mark.parametrize(
    ("request_id", "choice", "tokens"),
    [
        ("chat-usage-0", 0, 24),
        ("chat-contusage-0", 0, 24),
        ("chat-tokenids-0", 0, 24),
        ("comp-usage-0", 0, 24),
        ("comp-contusage-0", 0, 24),
        ("comp-n2-0", 0, 12),
        ("comp-n2-0", 1, 12),
        ("comp-onetoken-0", 0, 1),
        ("chat-noneos-0", 0, 30),
        ("chat-nostream-0", 0, 12),
        ("mix-0", 0, 200),
        ("mix-5", 0, 200),
        ("mix-long-0", 0, 8),
    ],
)
def test_the_options_of_the_server(request_id: str, choice: int, tokens: int) -> None:
    (row,) = (
        row
        for row in sample("sse_mono").rows
        if (row["request_id"], row["choice"]) == (request_id, choice)
    )
    assert (row["output_tokens"], row["token_count_source"]) == (tokens, "usage")
    assert row["status"] == "completed"


def test_without_usage_only_events_with_text_are_counted() -> None:
    row = sample("sse_mono").by_id()["chat-plain-0"]
    assert (row["output_tokens"], row["token_count_source"]) == (23, "events")
    assert row["granularity"] == "chunk"
    assert {EMPTY_LEFT_OUT, "tokens_are_events"} <= set(row["quality"])


def test_a_stop_string_and_a_length_are_kept_as_finish_reason() -> None:
    rows = sample("sse_mono").by_id()
    assert rows["chat-noneos-0"]["finish_reason"] == "stop"
    assert rows["chat-usage-0"]["finish_reason"] == "length"


def test_one_token_has_no_gap() -> None:
    row = sample("sse_mono").by_id()["comp-onetoken-0"]
    assert row["gaps_ns"] == []
    assert row["stream_close_ns"] == row["first_token_ns"]


def test_an_answer_that_was_not_streamed_is_noted() -> None:
    row = sample("sse_mono").by_id()["chat-nostream-0"]
    assert (row["token_counts"], row["quality"]) == ([12], ["not_streamed"])


def test_refused_and_cancelled_requests() -> None:
    rows = sample("sse_mono").by_id()
    assert rows["err-toolong-0"]["error_kind"] == "BadRequestError"
    assert rows["err-badmodel-0"]["error_kind"] == "NotFoundError"
    assert {rows[name]["status"] for name in rows if name.startswith("err-")} == {"failed"}
    assert (rows["cancel-0"]["status"], rows["cancel-0"]["output_tokens"]) == ("cancelled", 19)
    row = rows["cancel-1"]
    assert (row["status"], row["first_token_ns"]) == ("cancelled", None)
    assert EMPTY_LEFT_OUT in row["quality"]


def test_four_tokens_per_event() -> None:
    rows = sample("sse_interval_and_kill").by_id()
    assert rows["interval4-comp-0"]["token_counts"] == [1] + [4] * 10
    # The last two events of the chat answer came in one read.
    assert rows["interval4-chat-0"]["token_counts"] == [1] + [4] * 8 + [8]
    for name in ("interval1-comp-0", "interval1-chat-0"):
        assert (rows[name]["output_tokens"], rows[name]["granularity"]) == (41, "token")


def test_a_killed_engine_fails_its_streams() -> None:
    # 642 and 640 events before the error, the chat one with its role event; 7 and 6 reads of them.
    rows = sample("sse_interval_and_kill").by_id()
    for name, events, reads in (("kill-chat-0", 641, 7), ("kill-comp-0", 640, 6)):
        row = rows[name]
        assert (row["status"], row["error_kind"]) == ("failed", "in_band_error")
        assert row["output_tokens"] + marks(row).count("empty") == events
        assert len(times(row)) == reads
        assert row["finish_reason"] is None
    row = rows["kill-after-0"]
    assert (row["status"], row["error_kind"]) == ("failed", "InternalServerError")


@pytest.mark.parametrize(("name", "prefix"), [("sse_pd_forward", "sf"), ("sse_pd_discard", "sd")])
def test_every_request_through_the_proxy_has_sixty_tokens(name: str, prefix: str) -> None:
    rows = sample(name).by_id()
    assert set(rows) == {f"{prefix}-{i}" for i in range(24)}
    for row in rows.values():
        assert (row["status"], row["output_tokens"]) == ("completed", 60)
        assert (row["token_count_source"], "count_mismatch" in row["quality"]) == ("usage", False)
        counts = row["token_counts"] or [1] * len(times(row))
        assert sum(counts) == 60


def test_one_read_is_one_delivery() -> None:
    row = sample("sse_pd_forward").by_id()["sf-0"]
    assert (row["gaps_ns"], row["token_counts"]) == ([], [60])


def test_a_token_without_text_handed_on_by_the_proxy() -> None:
    # 15 tokens come with the next event; two more events share its read.
    row = sample("sse_pd_forward").by_id()["sf-2"]
    assert row["token_counts"][:2] == [1, 17]
    assert row["gaps_ns"][0] == 2_377_065_275_080 - 2_376_850_028_677


@pytest.mark.parametrize(
    "name", ["sse_mono", "sse_interval_and_kill", "sse_pd_forward", "sse_pd_discard"]
)
def test_the_wall_offset_of_a_capture_is_known_to_microseconds(name: str) -> None:
    (clock,) = sample(name).intake.clocks
    assert clock.uncertainty_ns is not None
    assert clock.uncertainty_ns < 3_000
