"""One row per token: whatever their order, each request's tokens come together in theirs."""

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.formats.table.tables import (
    TOKENS,
    Columns,
    read_file,
    read_text,
    rejects,
    write,
)
from tests.adapters.reading import Row, marks, times
from tokengap.adapters.formats.table import tokens as tokens_module

BASIC = TOKENS + 'request_id = "r"\ntime = { column = "t", unit = "us" }\n'
INDEXED = BASIC + 'index = "i"\n'
EVENTS = BASIC + (
    'event = { column = "e", other = "ignore", values = { tok = "token", begin = "received", '
    'end = "done", err = "failed", gone = "cancelled" } }\n'
)


def by_id(folder: Path, mapping: str, text: str) -> dict[str, Row]:
    reading = read_text(folder, mapping, text)
    assert reading.intake.rejects == []
    return reading.by_id()


def test_rows_of_two_requests_in_any_order(tmp_path: Path) -> None:
    rows = by_id(tmp_path, INDEXED, "r,i,t\na,2,150\nb,0,7\na,0,100\na,1,120\nb,1,9\n")
    assert list(rows) == ["a", "b"]  # as they first appear
    assert times(rows["a"]) == [100_000, 120_000, 150_000]
    assert times(rows["b"]) == [7_000, 9_000]
    assert rows["a"]["source"].endswith(":2")
    assert rows["a"]["vantage"] == "gateway"
    assert "order_assumed" not in rows["a"]["quality"]


def test_without_an_index_the_order_of_the_file_counts_and_is_noted(tmp_path: Path) -> None:
    rows = by_id(tmp_path, BASIC, "r,t\na,100\nb,7\na,90\n")
    assert times(rows["a"]) == [100_000, 90_000]
    assert {"order_assumed", "non_monotonic"} <= set(rows["a"]["quality"])
    assert "order_assumed" not in rows["b"]["quality"]


def test_rows_may_hold_several_tokens(tmp_path: Path) -> None:
    rows = by_id(tmp_path, BASIC + 'tokens = "n"\n', "r,t,n\na,100,4\na,120,1\nb,1,\n")
    assert (rows["a"]["output_tokens"], rows["a"]["token_counts"]) == (5, [4, 1])
    assert "tokens_are_events" in rows["b"]["quality"]


def test_attempts_choices_and_runs_are_kept_apart(tmp_path: Path) -> None:
    mapping = BASIC + 'attempt = "a"\nchoice = "c"\ntrace = "run"\n'
    text = "r,t,a,c,run\nx,1,0,0,u\nx,2,1,0,u\nx,3,0,1,u\nx,4,0,0,v\nx,5,,,u\n"
    rows = read_text(tmp_path, mapping, text).rows
    keys = [(row["trace"], row["attempt"], row["choice"]) for row in rows]
    assert keys == [("u", 0, 0), ("u", 1, 0), ("u", 0, 1), ("v", 0, 0)]
    assert times(rows[0]) == [1_000, 5_000]


def test_facts_are_those_of_the_first_good_row(tmp_path: Path) -> None:
    mapping = BASIC + (
        'sent = { column = "s", unit = "us" }\nprompt_tokens = "p"\noutput_tokens = "n"\n'
        'status = "st"\n[labels]\nzone = "z"\n'
    )
    text = "r,t,s,p,n,st,z\na,1,0,many,2,completed,u\na,2,0,5,2,completed,v\na,3,9,6,2,failed,w\n"
    reading = read_text(tmp_path, mapping, text)
    (row,) = reading.rows
    assert (row["sent_ns"], row["prompt_tokens"], row["output_tokens"]) == (0, 5, 2)
    assert (row["status"], row["labels"]) == ("completed", [("zone", "v")])
    assert times(row) == [2_000, 3_000]
    assert rejects(reading) == [(2, "p", "many")]


def test_events_say_when_it_began_and_how_it_ended(tmp_path: Path) -> None:
    rows = by_id(
        tmp_path,
        EVENTS,
        "r,t,e\na,1,begin\na,5,tok\na,7,tok\na,8,usage\na,9,end\nb,2,begin\nb,3,gone\n"
        "c,4,tok\nc,5,err\nc,6,end\nd,7,tok\n",
    )
    assert {name: row["status"] for name, row in rows.items()} == {
        "a": "completed", "b": "cancelled", "c": "failed", "d": "truncated",
    }  # fmt: skip
    assert (rows["a"]["received_ns"], rows["a"]["stream_close_ns"]) == (1_000, 9_000)
    assert (times(rows["a"]), marks(rows["a"])) == ([5_000, 7_000], ["done"])
    assert (rows["b"]["gaps_ns"], rows["b"]["stream_close_ns"]) == ([], 3_000)
    assert marks(rows["c"]) == ["error", "done"]
    assert rows["d"]["received_ns"] is None
    assert all("end_not_seen" not in row["quality"] for row in rows.values())


def test_a_file_without_ends_is_taken_to_be_complete_and_that_is_noted(tmp_path: Path) -> None:
    rows = by_id(tmp_path, EVENTS, "r,t,e\na,1,begin\na,5,tok\n")
    assert rows["a"]["status"] == "completed"
    assert "end_not_seen" in rows["a"]["quality"]


def test_times_may_count_from_a_stamp_in_the_row(tmp_path: Path) -> None:
    mapping = TOKENS + (
        'request_id = "r"\nsent = { column = "s", unit = "s" }\n'
        'time = { column = "t", unit = "ms", since = "sent" }\n'
    )
    rows = by_id(tmp_path, mapping, "r,s,t\na,10,450\na,10,470\n")
    assert rows["a"]["sent_ns"] == 10 * 10**9
    assert times(rows["a"]) == [10_450_000_000, 10_470_000_000]


def test_repeated_rows_count_once_and_contradicting_ones_are_rejected(tmp_path: Path) -> None:
    text = "r,i,t,n\na,0,1,1\na,1,5,1\na,1,5,1\na,1,6,1\na,0,1,2\nb,0,1,1\nb,,2,1\n"
    reading = read_text(tmp_path, INDEXED + 'tokens = "n"\n', text)
    rows = reading.by_id()
    assert times(rows["a"]) == [1_000, 5_000]
    assert "duplicate_dropped" in rows["a"]["quality"]
    assert "duplicate_dropped" not in rows["b"]["quality"]
    assert sorted(rejects(reading)) == [(5, "i", "1"), (6, "i", "0"), (8, "i", None)]


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ("a,1,x,1,tok", "t", "x"),
        ("a,1,,1,tok", "t", None),
        ("a,-1,1,1,tok", "i", "-1"),
        ("a,1,1,0,tok", "n", None),
        (",1,1,1,tok", "r", None),
        ("a,1,1,1,what", "e", "what"),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, row: str, field: str, value: str | None
) -> None:
    mapping = INDEXED + 'tokens = "n"\nevent = { column = "e", values = { tok = "token" } }\n'
    reading = read_text(tmp_path, mapping, f"r,i,t,n,e\n{row}\na,0,5,1,tok\n")
    assert [times(found) for found in reading.rows] == [[5_000]]
    assert rejects(reading) == [(2, field, value)]


def test_nothing_but_bad_rows_gives_no_request(tmp_path: Path) -> None:
    reading = read_text(tmp_path, BASIC, "r,t\na,x\n")
    assert (reading.rows, rejects(reading)) == ([], [(2, "t", "x")])


ROWS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.integers(0, 50), st.integers(1, 3)),
    min_size=1, max_size=60, unique_by=lambda row: row[:2],
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(rows=ROWS, kind=st.sampled_from(["csv", "jsonl", "parquet"]), batch=st.integers(1, 200))
def test_what_is_read_is_what_sorting_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, int, int]], kind: str,
    batch: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(tokens_module, "BATCH_TOKENS", batch)
    columns: Columns = {
        "r": [name for name, _, _ in rows],
        "i": [index for _, index, _ in rows],
        "t": [1000 * index for _, index, _ in rows],
        "n": [count for _, _, count in rows],
    }
    path = write(tmp_path, kind, columns)
    found = read_file(path, INDEXED + 'tokens = "n"\n').rows
    monkeypatch.undo()
    expected: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, index, count in rows:
        expected[name].append((index, count))
    assert [row["request_id"] for row in found] == list(expected)
    for row in found:
        tokens = sorted(expected[row["request_id"]])
        assert times(row) == [1_000_000 * index for index, _ in tokens]
        assert row["output_tokens"] == sum(count for _, count in tokens)
        counts = row["token_counts"] or [1] * len(tokens)
        assert counts == [count for _, count in tokens]
