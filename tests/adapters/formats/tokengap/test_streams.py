"""Which lines of tokengap's own log make up a stream, and lines that are whole streams."""

from pathlib import Path

from tests.adapters.formats.tokengap.own_log import event, read_files, read_own, stream, the_row
from tests.adapters.reading import Reading, times

MS = 1_000_000


def by_vantage(reading: Reading) -> dict[str | None, list[int]]:
    return {row["vantage"]: times(row) for row in reading.rows}


def test_a_stream_in_one_line(tmp_path: Path) -> None:
    row = the_row(
        tmp_path,
        stream(
            [10 * MS, 20 * MS, 20 * MS, 50 * MS], token_counts=[1, 1, 2, 1], attempt=2, choice=3,
            vantage="gateway", sent_ns=5, stream_close_ns=60,
            marks=[{"kind": "preempted", "t_ns": 30}],
            reported=[{"metric": "ttft", "value_ns": 5, "formula": "first - sent"}],
        ),
    )  # fmt: skip
    assert times(row) == [10 * MS, 20 * MS, 50 * MS]
    assert row["token_counts"] == [1, 3, 1]
    assert (row["attempt"], row["choice"], row["vantage"]) == (2, 3, "gateway")
    assert (row["sent_ns"], row["stream_close_ns"]) == (5, 60)
    assert row["marks"] == [{"kind": "preempted", "t_ns": 30}]
    assert row["reported"] == [{"metric": "ttft", "value_ns": 5, "formula": "first - sent"}]
    assert (row["status"], row["vantage"]) == ("completed", "gateway")
    assert row["quality"] == ["end_not_seen"]


def test_marks_of_a_whole_stream_end_it(tmp_path: Path) -> None:
    row = the_row(tmp_path, stream([10], marks=[{"kind": "error", "t_ns": 30}]))
    assert (row["status"], row["stream_close_ns"]) == ("failed", 30)


def test_no_deliveries_are_made_up_for_an_aggregate(tmp_path: Path) -> None:
    lines = [
        stream([], "empty", status="failed"),
        {
            "request_id": "sums", "granularity": "aggregate", "sent_ns": 1, "last_token_ns": 90,
            "output_tokens": 7,
        },
        {"request_id": "null", "granularity": "aggregate", "times_ns": None},
    ]  # fmt: skip
    rows = read_own(tmp_path, *lines).by_id()
    assert [rows[r]["gaps_ns"] for r in ("empty", "sums", "null")] == [[], None, None]
    assert rows["sums"]["granularity"] == "aggregate" != rows["empty"]["granularity"]
    assert (rows["sums"]["output_tokens"], rows["sums"]["last_token_ns"]) == (7, 90)
    assert rows["null"]["output_tokens"] is None
    assert rows["empty"]["output_tokens"] == 0


def test_the_same_stream_line_again_counts_once(tmp_path: Path) -> None:
    one = stream([10, 20], model="m")
    row = the_row(tmp_path, one, one)
    assert times(row) == [10, 20]
    assert "duplicate_dropped" in row["quality"]


def test_another_line_for_the_same_stream_is_set_apart(tmp_path: Path) -> None:
    lines = [
        stream([10, 20], model="m"), stream([10, 21], model="m"), stream([10, 20], model="n"),
        stream([10, 20], token_counts=[1, 1], model="m"), stream([10, 20], attempt=1),
    ]  # fmt: skip
    reading = read_own(tmp_path, *lines)
    assert [(r.line, r.field) for r in reading.intake.rejects] == [
        (2, "times_ns"), (3, "times_ns"), (4, "times_ns"),
    ]  # fmt: skip
    assert all("log.jsonl:1" in r.reason for r in reading.intake.rejects)
    assert {row["attempt"]: times(row) for row in reading.rows} == {0: [10, 20], 1: [10, 20]}
    assert reading.rows[0]["model"] == "m"


def test_single_events_of_a_stream_given_whole_are_set_apart(tmp_path: Path) -> None:
    lines = [event(11, index=0, model="n"), stream([10, 20]), event(30, "done", model="m")]
    reading = read_own(tmp_path, *lines)
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (1, "t_ns")
    assert "log.jsonl:2" in reject.reason
    (row,) = reading.rows
    assert (times(row), row["stream_close_ns"], row["model"]) == ([10, 20], 30, "m")


def test_a_line_without_choice_speaks_of_all_of_them(tmp_path: Path) -> None:
    # Case 19: each of two answers has a token every 20 ms, merged they would show 10 ms.
    tokens = [event((100 + 10 * n) * MS, choice=n % 2, index=n // 2) for n in range(6)]
    reading = read_own(
        tmp_path, event(0, "sent"), *tokens, event(160 * MS, "done"),
        event(155 * MS, "finish", choice=1, finish_reason="length"),
    )  # fmt: skip
    assert [row["choice"] for row in reading.rows] == [0, 1]
    assert [row["gaps_ns"] for row in reading.rows] == [[20 * MS, 20 * MS]] * 2
    assert [row["sent_ns"] for row in reading.rows] == [0, 0]
    assert [row["stream_close_ns"] for row in reading.rows] == [160 * MS] * 2
    assert [row["finish_reason"] for row in reading.rows] == [None, "length"]


def test_a_total_over_all_choices_is_that_of_none(tmp_path: Path) -> None:
    tokens = [event(10 + n, choice=n % 2, index=n // 2) for n in range(4)]
    reading = read_own(tmp_path, *tokens, event(20, "usage", output_tokens=8))
    for row in reading.rows:
        assert (row["output_tokens"], row["token_count_source"]) == (2, "events")
        assert "total_of_all_choices" in row["quality"]


def test_each_vantage_is_a_stream(tmp_path: Path) -> None:
    lines = [event(10, vantage="client"), event(9, vantage="engine"), event(8)]
    assert by_vantage(read_own(tmp_path, *lines)) == {"client": [10], "engine": [9], None: [8]}


def test_a_mark_without_vantage_belongs_to_the_only_one(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(1, "sent"), event(10, vantage="client"), event(20, "done"))
    assert (row["vantage"], row["sent_ns"], row["status"]) == ("client", 1, "completed")
    row = the_row(tmp_path, event(1, "sent", vantage="engine"), event(20, "rejected"))
    assert (row["vantage"], row["sent_ns"], row["status"]) == ("engine", 1, "rejected")


def test_a_mark_without_vantage_stays_with_the_tokens_that_have_none(tmp_path: Path) -> None:
    lines = [event(1, "sent"), event(10), event(9, vantage="client")]
    rows = read_own(tmp_path, *lines).rows
    assert {row["vantage"]: row["sent_ns"] for row in rows} == {None: 1, "client": None}


def test_a_mark_without_vantage_is_set_apart_where_there_are_several(tmp_path: Path) -> None:
    lines = [event(10, vantage="client"), event(9, vantage="engine"), event(1, "sent")]
    reading = read_own(tmp_path, *lines)
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (3, "vantage")
    assert "client and engine" in reject.reason
    assert by_vantage(reading) == {"client": [10], "engine": [9]}


def test_a_request_without_tokens_is_a_stream(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(1, "sent"), event(5, "error", error_kind="http_503"))
    assert (row["status"], row["output_tokens"], row["gaps_ns"]) == ("failed", 0, [])
    assert row["first_token_ns"] is None


def test_events_of_one_request_are_joined_across_files(tmp_path: Path) -> None:
    reading = read_files(
        tmp_path,
        [event(1, "sent"), event(10, index=0), event(30, index=2)],
        [event(40, "done", model="m"), event(20, index=1), event(30, index=2)],
    )
    (row,) = reading.rows
    assert times(row) == [10, 20, 30]
    assert (row["sent_ns"], row["status"], row["model"]) == (1, "completed", "m")
    assert {"clock_assumed", "duplicate_dropped"} <= set(row["quality"])
    assert "order_assumed" not in row["quality"]
    assert row["clock"] == row["source"].rpartition(":")[0]
    assert row["source"].endswith(":1")


def test_a_clock_that_is_named_need_not_be_assumed(tmp_path: Path) -> None:
    reading = read_files(tmp_path, [event(10, index=0, clock="c")], [event(20, index=1)])
    assert "clock_assumed" not in reading.rows[0]["quality"]


def test_a_contradiction_in_another_file_is_found_there(tmp_path: Path) -> None:
    reading = read_files(
        tmp_path,
        [event(10, index=0), event(20, index=1)],
        [],
        [event(1, "sent"), event(11, index=0)],
    )
    (reject,) = reading.intake.rejects
    assert (reject.source_name, reject.line, reject.value) == ("2.jsonl", 2, "11")
    assert "0.jsonl:1" in reject.reason


def test_the_source_is_the_first_line_of_the_stream(tmp_path: Path) -> None:
    lines = [event(1, "sent", "b"), event(2), event(3, request_id="b"), event(1, "sent", "a")]
    rows = read_own(tmp_path, *lines).by_id()
    assert [rows[r]["source"].rpartition(":")[2] for r in "ab"] == ["2", "1"]
    assert rows["a"]["source"].startswith("tokengap:")
