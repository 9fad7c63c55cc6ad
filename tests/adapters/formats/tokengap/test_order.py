"""Order, repeats and contradictions among the token events of tokengap's own log."""

from pathlib import Path

from tests.adapters.formats.tokengap.own_log import event, read_own, stream, the_reject, the_row
from tests.adapters.reading import times


def test_the_index_decides_the_order_even_against_time(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(30, index=7), event(40, index=2), event(50, index=9))
    assert times(row) == [40, 30, 50]
    assert row["min_gap_ns"] == -10
    assert "non_monotonic" in row["quality"]
    assert "order_assumed" not in row["quality"]


def test_without_an_index_the_file_decides(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(30), event(20), event(50))
    assert times(row) == [30, 20, 50]
    assert "order_assumed" in row["quality"]


def test_one_event_needs_no_order(tmp_path: Path) -> None:
    assert "order_assumed" not in the_row(tmp_path, event(30), event(31, "done"))["quality"]


def test_an_event_without_index_among_indexed_ones_is_set_apart(tmp_path: Path) -> None:
    reading = read_own(tmp_path, event(10), event(20, index=0), event(30, index=1))
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (1, "index")
    (row,) = reading.rows
    assert times(row) == [20, 30]


def test_the_same_event_again_counts_once(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(10, index=0), event(20, index=1), event(20, index=1))
    assert times(row) == [10, 20]
    assert row["output_tokens"] == 2
    assert "duplicate_dropped" in row["quality"]


def test_the_same_index_at_another_time_is_set_apart(tmp_path: Path) -> None:
    reading = read_own(
        tmp_path, event(10, index=0), event(20, index=1), event(15, index=1), event(20, index=1)
    )
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field, reject.value) == (3, "t_ns", "15")
    assert "conflicts with the earlier event" in reject.reason
    assert reject.reason.endswith(f"20 at {tmp_path}/log.jsonl:2")
    (row,) = reading.rows
    assert times(row) == [10, 20]
    assert "duplicate_dropped" in row["quality"]  # line 4 repeats line 2


def test_the_same_index_with_another_count_is_set_apart(tmp_path: Path) -> None:
    lines = (event(10, index=0, n_tokens=2), event(10, index=0, n_tokens=3))
    reject = the_reject(tmp_path, *lines)
    assert (reject.line, reject.field, reject.value) == (2, "n_tokens", "3")


def test_the_index_of_another_choice_or_attempt_is_another_one(tmp_path: Path) -> None:
    lines = [
        event(10 + n, index=0, choice=choice, attempt=attempt)
        for n, (choice, attempt) in enumerate([(0, 0), (1, 0), (0, 1)])
    ]
    reading = read_own(tmp_path, *lines)
    assert reading.intake.rejects == []
    found = {(row["attempt"], row["choice"]): times(row) for row in reading.rows}
    assert found == {(0, 0): [10], (0, 1): [11], (1, 0): [12]}


def test_where_a_refused_line_is_can_be_found_again(tmp_path: Path) -> None:
    reading = read_own(tmp_path, event(10, index=0), b"", event(20, index=0))
    (reject,) = reading.intake.rejects
    data = (tmp_path / "log.jsonl").read_bytes()
    assert reject.offset is not None
    assert reject.length is not None
    assert reject.line == 3
    assert data[reject.offset :][: reject.length + 1].endswith(b'"index": 0}\n')
    assert b'"t_ns": 20' in data[reject.offset :][: reject.length]


def test_the_first_answer_comes_after_reasoning(tmp_path: Path) -> None:
    # Case 13: three reasoning tokens, then text; only the order by index is looked at.
    lines = [event(100 + 10 * n, "reasoning", index=n) for n in range(3)]
    lines += [event(140, "text", index=4), event(130, "text", index=3)]
    assert the_row(tmp_path, *lines)["first_answer_ns"] == 130


def test_text_that_comes_first_is_no_answer_after_reasoning(tmp_path: Path) -> None:
    lines = [event(10, "text"), event(20, "reasoning"), event(30, "text")]
    assert the_row(tmp_path, *lines)["first_answer_ns"] is None
    assert the_row(tmp_path, event(10, "reasoning"), event(20, "tool"))["first_answer_ns"] is None


def test_counts_on_every_event_are_the_split(tmp_path: Path) -> None:
    row = the_row(tmp_path, *(event(10 * n, index=n, n_tokens=n + 1) for n in range(3)))
    assert row["token_counts"] == [1, 2, 3]
    assert (row["output_tokens"], row["token_count_source"]) == (6, "events")


def test_a_count_that_is_missing_once_leaves_the_split_unknown(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(10, n_tokens=2), event(20), event(30, "usage", output_tokens=9))
    assert row["token_counts"] is None
    assert row["output_tokens"] == 9


def test_events_of_one_time_are_one_delivery(tmp_path: Path) -> None:
    row = the_row(tmp_path, *(event(t, index=n) for n, t in enumerate([10, 20, 20, 30])))
    assert row["gaps_ns"] == [10, 10]
    assert row["token_counts"] == [1, 2, 1]


def test_a_line_on_another_clock_is_set_apart(tmp_path: Path) -> None:
    lines = [
        event(1, "sent", clock="host-b"), event(10, clock="host-a"), event(20),
        event(30, clock="host-b"), event(40, "done", clock="host-a"),
    ]  # fmt: skip
    reading = read_own(tmp_path, *lines)
    assert sorted((r.line, r.field) for r in reading.intake.rejects) == [(1, "clock"), (4, "clock")]
    (row,) = reading.rows
    assert (row["clock"], row["sent_ns"], times(row)) == ("host-a", None, [10, 20])


def test_the_clock_is_the_files_own_unless_named(tmp_path: Path) -> None:
    row = the_row(tmp_path, event(10), event(20))
    assert row["clock"] == row["source"].rpartition(":")[0]
    assert row["clock_kind"] is None
    assert the_row(tmp_path, event(10), event(20, clock="c"))["clock"] == "c"
    assert the_row(tmp_path, stream([10], clock="c"))["clock"] == "c"
    assert the_row(tmp_path, event(10, "sent", clock="c"), event(20))["clock"] == "c"
