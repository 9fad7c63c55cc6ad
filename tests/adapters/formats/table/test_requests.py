"""One row per request: what its columns are said to mean is what the row of `streams` holds."""

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.table.tables import (
    DURATIONS,
    MS,
    REQUESTS,
    Columns,
    read_file,
    read_text,
    rejects,
    write,
)
from tests.adapters.reading import Row, times
from tokengap.errors import InputError

SECOND = 10**9
BASIC = (
    REQUESTS + 'sent = { column = "t", unit = "s" }\n'
    'first_token = { column = "ttft", unit = "ms", since = "sent" }\n'
    'gaps = { column = "itl", unit = "ms" }\n'
)


def one(folder: Path, mapping: str, text: str) -> Row:
    reading = read_text(folder, mapping, text)
    assert reading.intake.rejects == []
    (row,) = reading.rows
    return row


def test_a_stamp_a_duration_and_a_list(tmp_path: Path) -> None:
    # Sent at 1700000000.25 s, first token 450 ms later, then 1.5 ms and 20 ms.
    row = one(tmp_path, BASIC, 't,ttft,itl\n1700000000.25,450,"[1.5, 20]"\n')
    sent = 1_700_000_000_250_000_000
    assert (row["sent_ns"], row["first_token_ns"]) == (sent, sent + 450 * MS)
    assert row["gaps_ns"] == [1_500_000, 20 * MS]
    assert (row["output_tokens"], row["token_count_source"]) == (3, "events")
    assert (row["request_id"], row["trace"], row["vantage"]) == ("2", "log", "client")
    assert (row["clock_kind"], row["source"]) == ("wall", f"{row['clock']}:2")
    assert (row["status"], row["attempt"], row["choice"]) == ("completed", 0, 0)
    assert {"end_not_seen", "tokens_are_events"} <= set(row["quality"])


def test_all_that_can_be_said_of_a_request(tmp_path: Path) -> None:
    names = [
        "request_id", "trace", "error_kind", "finish_reason", "deployment", "model", "tenant",
        "slo_class", "prefill_worker", "decode_worker", "attempt", "choice", "prompt_tokens",
        "cached_prompt_tokens", "requested_output_tokens", "kv_bytes", "last_prefill_token",
    ]  # fmt: skip
    numbers = names[names.index("attempt") :]
    mapping = (
        BASIC
        + "".join(f'{name} = "{name}"\n' for name in names)
        + 'output_tokens = { column = "n", source = "token_ids" }\n'
        'status = { column = "st", values = { ok = "completed" }, other = "failed" }\n'
        'planned = { column = "planned", unit = "iso" }\n'
        'received = { column = "r", unit = "us", since = "sent" }\n'
        'arrival = { column = "r", unit = "us", since = "received" }\n'
        'end = { column = "end", unit = "s", since = "sent" }\n'
        '[ids]\nx_request_id = "x"\n[labels]\nzone = "z"\nturn = { value = "1" }\n'
        '[reported]\ntpot = { column = "tpot", unit = "ms", formula = "mean" }\n'
    )
    values = {name: str(number) for number, name in enumerate(names)}
    cells = values | {
        "t": "1700000000", "ttft": "450", "itl": "1 2", "n": "3", "st": "boom", "r": "10",
        "planned": "2023-11-14T22:13:19.5Z", "end": "2", "x": "abc", "z": "eu", "tpot": "1.5",
    }  # fmt: skip
    row = one(tmp_path, mapping, f"{','.join(cells)}\n{','.join(cells.values())}\n")
    for name in names:
        assert row[name] == (int(values[name]) if name in numbers else values[name])
    sent = 1_700_000_000 * SECOND
    assert row["planned_ns"] == sent - SECOND // 2  # 22:13:20 is 1700000000
    assert (row["received_ns"], row["arrival_ns"]) == (sent + 10_000, sent + 20_000)
    assert (row["stream_close_ns"], row["status"]) == (sent + 2 * SECOND, "failed")
    assert (row["output_tokens"], row["token_count_source"]) == (3, "token_ids")
    assert row["handoff_source"] == "log"
    assert row["ids"] == [("x_request_id", "abc")]
    assert row["labels"] == [("zone", "eu"), ("turn", "1")]
    assert row["reported"] == [{"metric": "tpot", "value_ns": 1_500_000, "formula": "mean"}]
    assert "end_not_seen" not in row["quality"]


def test_a_list_may_begin_with_the_wait_for_the_first_token(tmp_path: Path) -> None:
    mapping = REQUESTS + (
        'sent = { column = "t", unit = "ms" }\n'
        'gaps = { column = "itl", unit = "ms", since = "sent" }\n'
    )
    row = one(tmp_path, mapping, 't,itl\n1000,"[450, 20, 30]"\n')
    assert (row["first_token_ns"], row["gaps_ns"]) == (1450 * MS, [20 * MS, 30 * MS])


@pytest.mark.parametrize(
    ("since", "cell"), [("", '"1450;1470;1500"'), (', since = "sent"', '"[450, 470, 500]"')]
)
def test_a_list_may_hold_times(tmp_path: Path, since: str, cell: str) -> None:
    mapping = REQUESTS + (
        'sent = { column = "t", unit = "ms" }\n'
        f'token_times = {{ column = "times", unit = "ms"{since} }}\ntoken_counts = "counts"\n'
    )
    row = one(tmp_path, mapping, f't,times,counts\n1000,{cell},"[1, 4, 1]"\n')
    assert times(row) == [1450 * MS, 1470 * MS, 1500 * MS]
    assert (row["output_tokens"], row["token_counts"]) == (6, [1, 4, 1])


def test_without_a_list_only_first_and_last_are_known(tmp_path: Path) -> None:
    mapping = REQUESTS + (
        'sent = { column = "t", unit = "ms" }\noutput_tokens = "n"\n'
        'first_token = { column = "ttft", unit = "ms", since = "sent" }\n'
        'last_token = { column = "e2e", unit = "ms", since = "sent" }\n'
    )
    row = one(tmp_path, mapping, "t,n,ttft,e2e\n1000,5,450,900\n")
    assert (row["granularity"], row["gaps_ns"]) == ("aggregate", None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (1450 * MS, 1900 * MS)


def test_a_row_without_its_list_is_an_aggregate_beside_others(tmp_path: Path) -> None:
    rows = read_text(tmp_path, BASIC, "t,ttft,itl\n1,450,\n1,450,[]\n1,,[]\n").rows
    assert [row["gaps_ns"] for row in rows] == [None, [], []]
    assert [row["granularity"] for row in rows] == ["aggregate", "chunk", "chunk"]
    first = SECOND + 450 * MS
    assert [row["first_token_ns"] for row in rows] == [first, first, None]


def test_only_arrivals_and_lengths_are_a_workload(tmp_path: Path) -> None:
    mapping = REQUESTS + 'arrival = { column = "t", unit = "s" }\nprompt_tokens = "p"\n'
    row = one(tmp_path, mapping, "t,p\n1,5\n")
    assert (row["granularity"], row["quality"], row["arrival_ns"]) == ("workload", [], SECOND)


def test_durations_alone_put_each_request_on_a_clock_of_its_own(tmp_path: Path) -> None:
    mapping = DURATIONS + 'first_token = { column = "ttft", unit = "s", since = "sent" }\n'
    first, second = read_text(tmp_path, mapping, "ttft\n0.45\n0.55\n").rows
    assert [row["sent_ns"] for row in (first, second)] == [0, 0]
    assert [row["first_token_ns"] for row in (first, second)] == [450 * MS, 550 * MS]
    assert first["clock"] == first["source"] != second["clock"]
    assert first["clock_kind"] == "monotonic"


def test_a_named_clock_is_shared_by_files(tmp_path: Path) -> None:
    mapping = BASIC.replace('kind = "wall"', 'kind = "monotonic", id = "host-1"')
    row = one(tmp_path, mapping, "t,ttft,itl\n1,2,[]\n")
    assert (row["clock"], row["clock_kind"]) == ("host-1", "monotonic")


def test_what_stands_for_nothing_is_no_value_and_is_noted(tmp_path: Path) -> None:
    mapping = (
        'missing = ["-", -1]\n' + REQUESTS + 'sent = { column = "t", unit = "s" }\n'
        'first_token = { column = "ttft", unit = "ms", since = "sent", missing = [0] }\n'
        'prompt_tokens = "p"\nmodel = "m"\n'
    )
    text = "t,ttft,p,m\n1,0.0,5,a\n1,450,-1,-\n1,-1.0,-,a\n1,,,\n0,450,0,a\n"
    rows = read_text(tmp_path, mapping, text).rows
    assert [row["first_token_ns"] for row in rows] == [
        None, SECOND + 450 * MS, None, None, 450 * MS,
    ]  # fmt: skip
    assert [row["prompt_tokens"] for row in rows] == [5, None, None, None, 0]
    assert [row["model"] for row in rows] == ["a", None, "a", None, "a"]
    dropped = ["sentinel_dropped" in row["quality"] for row in rows]
    assert dropped == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ("x,450,[]", "t", "x"),
        ("1,soon,[]", "ttft", "soon"),
        ("1,inf,[]", "ttft", "inf"),
        ('1,450,"[1, x]"', "itl", None),
        ('1,450,"[1,,2]"', "itl", "[1,,2]"),
        ("1,,[5]", "itl", None),
        ("4611686018,1000,[]", "sent", None),
        ("1,450,[4611686018427]", "itl", None),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, row: str, field: str, value: str | None
) -> None:
    reading = read_text(tmp_path, BASIC, f"t,ttft,itl\n{row}\n2,450,[]\n")
    assert [found["request_id"] for found in reading.rows] == ["3"]
    assert rejects(reading) == [(2, field, value)]


@pytest.mark.parametrize(
    ("mapping", "cells", "field"),
    [
        ('request_id = "x"', ("", "a"), "x"),
        ('status = "x"', ("done", "completed"), "x"),
        ('status = { column = "x", values = { ok = "completed" } }', ("bad", "ok"), "x"),
        ('output_tokens = "x"', ("1.5", "1.0"), "x"),
        ('token_counts = "x"', ("[0]", "[2]"), "x"),
        ('token_counts = "x"', ('"[1, 1]"', "[1]"), "x"),
    ],
)
def test_a_fact_that_cannot_be_costs_only_its_row(
    tmp_path: Path, mapping: str, cells: tuple[str, str], field: str
) -> None:
    text = "t,ttft,itl,x\n" + "".join(f"1,450,[],{cell}\n" for cell in cells)
    reading = read_text(tmp_path, f"{BASIC}{mapping}\n", text)
    assert [row["source"][-1] for row in reading.rows] == ["3"]
    assert [(line, name) for line, name, _ in rejects(reading)] == [(2, field)]


KINDS: Columns = {
    "id": ["a", "b", "c"],
    "t": [1_700_000_000_000_000_001, 1_700_000_000_000_000_003, 5],
    "ttft": [0.45, 0.55, None],
    "itl": [[0.0015, 0.02], [], None],
    "n": [3, 1, None],
}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, kind: str) -> None:
    mapping = REQUESTS + (
        'request_id = "id"\nsent = { column = "t", unit = "ns" }\noutput_tokens = "n"\n'
        'first_token = { column = "ttft", unit = "s", since = "sent" }\n'
        'gaps = { column = "itl", unit = "s" }\n'
    )
    first, second, third = read_file(write(tmp_path, kind, KINDS), mapping).rows
    sent = 1_700_000_000_000_000_001
    assert (first["sent_ns"], second["sent_ns"]) == (sent, sent + 2)  # 256 ns apart as doubles
    assert times(first) == [sent + ms * MS // 10 for ms in (4500, 4515, 4715)]
    assert (second["first_token_ns"], second["gaps_ns"]) == (sent + 2 + 550 * MS, [])
    assert (third["first_token_ns"], third["gaps_ns"], third["output_tokens"]) == (None,) * 3
    assert [row["output_tokens"] for row in (first, second)] == [3, 1]


def test_columns_may_reach_into_objects(tmp_path: Path) -> None:
    mapping = (
        REQUESTS + 'sent = { column = "times.sent", unit = "s" }\nmodel = "meta.a.model"\n'
        '[labels]\ndotted = "x.y"\n'
    )
    line = '{"times": {"sent": 1.5}, "meta": {"a": {"model": "m"}}, "x.y": "z"}\n'
    rows = read_text(tmp_path, mapping, line + '{"times": 3, "meta": null}\n', "log.jsonl").rows
    assert [row["sent_ns"] for row in rows] == [1_500 * MS, None]
    assert [row["model"] for row in rows] == ["m", None]
    assert rows[0]["labels"] == [("dotted", "z")]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ('{"t": 1, "t": 2}', "t"),
        ('{"\\u0074": 1, "t": 2}', "t"),
        ("[1]", None),
        ('{"t": 1', None),
        ('{"t": NaN}', None),
    ],
)
def test_a_bad_line_of_json_costs_only_itself(tmp_path: Path, bad: str, field: str | None) -> None:
    mapping = REQUESTS + 'sent = { column = "t", unit = "s" }\n'
    reading = read_text(tmp_path, mapping, f'{{"t": 1}}\n{bad}\n\n{{"t": 2}}\n', "log.jsonl")
    assert [row["sent_ns"] for row in reading.rows] == [SECOND, 2 * SECOND]
    assert [row["source"][-1] for row in reading.rows] == ["1", "4"]
    assert rejects(reading) == [(2, field, None)]


def test_bytes_that_are_no_text_cost_only_their_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(
        b'{"t": 1}\n{"t": 2, "x": "\xff"}\n{"t": 3, "x": "\xc3\xa9"}\n'
    )
    mapping = REQUESTS + 'sent = { column = "t", unit = "s" }\n'
    reading = read_file(tmp_path / "log.jsonl", mapping)
    assert [row["sent_ns"] for row in reading.rows] == [SECOND, 3 * SECOND]
    assert rejects(reading) == [(2, None, None)]


def test_a_key_twice_that_is_not_mapped_does_no_harm(tmp_path: Path) -> None:
    mapping = REQUESTS + 'sent = { column = "t", unit = "s" }\n'
    for line in ('{"t": 1, "x": 1, "x": 2}', '{"t": 1, "x": {"t": 3}, "x": 2}'):
        reading = read_text(tmp_path, mapping, f"{line}\n", "log.jsonl")
        assert [row["sent_ns"] for row in reading.rows] == [SECOND]


def test_lists_with_whole_numbers_among_others(tmp_path: Path) -> None:
    lines = '{"t": 1, "ttft": 1, "itl": [1, 2.5]}\n{"t": 1, "ttft": 2.5, "itl": [3]}\n'
    rows = read_text(tmp_path, BASIC, lines, "log.jsonl").rows
    assert [row["gaps_ns"] for row in rows] == [[MS, 2_500_000], [3 * MS]]


def test_other_delimiters(tmp_path: Path) -> None:
    mapping = (
        'delimiter = "\\t"\n' + REQUESTS + 'sent = { column = "t", unit = "s" }\nmodel = "m"\n'
    )
    assert one(tmp_path, mapping, "m\tt\na,b\t1\n")["model"] == "a,b"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"s": [1], "ttft": [1], "itl": [[1]]}, r"no column 't' \(--map, line 5: columns.sent\)"),
        ({"t": [1], "tttft": [1], "itl": [[1]]}, "did you mean 'tttft'.*there are t, tttft, itl"),
        ({"t": [[1]], "ttft": [1], "itl": [[1]]}, r"line 5: columns.sent\): it holds list"),
        ({"t": [1], "ttft": [1], "itl": [1]}, r"line 7: columns.gaps\): it holds int64"),
    ],
)
def test_a_column_that_is_missing_or_cannot_be_that_is_named(
    tmp_path: Path, columns: Columns, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read_file(write(tmp_path, "parquet", columns), BASIC)


def test_a_column_that_may_be_missing(tmp_path: Path) -> None:
    mapping = BASIC + 'model = { column = "m", optional = true }\n'
    assert one(tmp_path, mapping, "t,ttft,itl\n1,2,[]\n")["model"] is None
    assert one(tmp_path, mapping, "t,ttft,itl,m\n1,2,[],a\n")["model"] == "a"


def test_an_array_of_json_says_how_to_make_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jq -c"):
        read_text(tmp_path, BASIC, '[{"t": 1}]', "log.json")


def test_a_cut_parquet_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1" + bytes(64))
    with pytest.raises(InputError, match="not a whole Parquet file"):
        read_file(tmp_path / "log.parquet", BASIC)


def test_parquet_rows_are_called_by_their_index(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"t": ["1", "x", "3"], "ttft": [1, 1, 1], "itl": [[], [], []]}
    reading = read_file(write(tmp_path, "parquet", columns), BASIC)
    assert [row["request_id"] for row in reading.rows] == ["0", "2"]
    assert rejects(reading) == [(1, "t", "x")]
