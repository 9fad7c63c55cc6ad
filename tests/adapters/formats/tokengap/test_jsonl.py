"""tokengap's own log as a whole: the public cases, damaged files, and a plain oracle."""

import hashlib
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.formats.tokengap.own_log import (
    Line,
    event,
    read_files,
    read_own,
    stream,
    the_row,
)
from tests.adapters.reading import Row, times
from tests.cases.convert import load_case, own_key_names
from tokengap.adapters import ADAPTERS
from tokengap.adapters.formats.tokengap import jsonl
from tokengap.adapters.formats.tokengap.jsonl import TokengapJsonl
from tokengap.adapters.interface import Head
from tokengap.schema import TIME_LIMIT_NS


def gaps(rows: list[Row]) -> dict[str, list[int]]:
    return {row["request_id"]: row["gaps_ns"] for row in rows if row["gaps_ns"]}


def test_57_one_float_row_turns_column_to_double(tmp_path: Path) -> None:
    case = load_case("57")
    reading = read_own(tmp_path, *own_key_names(case))
    assert gaps(reading.rows) == case.expect["gaps_ns"] != case.naive["gaps_ns"]
    null, fraction = reading.intake.rejects
    assert (null.line, null.field, null.reason) == (3, "t_ns", "t_ns is null")
    assert (fraction.line, fraction.field) == (4, "t_ns")
    assert fraction.value == "1764412800000000201.5"


def test_58_bad_line_in_the_middle(tmp_path: Path) -> None:
    case = load_case("58")
    reading = read_own(tmp_path, *own_key_names(case))
    rejects = reading.intake.rejects
    assert [reject.line for reject in rejects] == case.expect["quarantined_lines"]
    assert [(reject.field, reject.value) for reject in rejects] == [("t_ns", "NaN"), (None, None)]
    assert sorted(reading.by_id()) == case.expect["requests_seen"]
    tokens = sum(row["output_tokens"] for row in reading.rows)
    assert tokens == case.expect["rows_ok"] != case.naive["rows_ok"]


def test_63_non_finite_in_json(tmp_path: Path) -> None:
    values = ("NaN", "Infinity", "-Infinity")
    lines = [f'{{"request_id":"a","t_ns":10,"other":{value}}}' for value in values]
    reading = read_own(tmp_path, event(10), *lines)
    assert [reject.value for reject in reading.intake.rejects] == list(values)
    assert [times(row) for row in reading.rows] == [[10]]


def test_65_and_66_nanoseconds_stay_exact(tmp_path: Path) -> None:
    case = load_case("65")
    row = the_row(tmp_path, stream(case.input["times_ns"]))
    assert row["gaps_ns"] == case.expect["gaps_ns"] != case.naive["gaps_ns"]
    assert times(row) == case.expect["times_ns"]
    # The last stamp of case 66 is beyond the limit; the limit itself makes the same large step.
    stamps = [*load_case("66").input["times_ns"][:-1], TIME_LIMIT_NS]
    row = the_row(tmp_path, *(event(t_ns, index=n) for n, t_ns in enumerate(stamps)))
    assert times(row) == stamps
    reading = read_own(tmp_path, stream(load_case("66").input["times_ns"]))
    assert [reject.field for reject in reading.intake.rejects] == ["times_ns[4]"]


def test_68_rows_interleaved_and_shuffled(tmp_path: Path) -> None:
    case = load_case("68")
    reading = read_own(tmp_path, *own_key_names(case))
    assert gaps(reading.rows) == case.expect["gaps_ns"]
    assert reading.intake.rejects == []


def test_69_duplicate_delivery(tmp_path: Path) -> None:
    case = load_case("69")
    row = the_row(tmp_path, *own_key_names(case))
    assert row["output_tokens"] == case.expect["output_tokens"]
    assert row["gaps_ns"] == case.expect["delivery_gaps_ns"]
    deliveries = zip(times(row), row["token_counts"], strict=True)
    assert [list(one) for one in deliveries] == case.expect["events"]
    assert "duplicate_dropped" in row["quality"]


def test_72_slo_edge_in_integers(tmp_path: Path) -> None:
    case = load_case("72")
    stamps = [0]
    for gap in case.input["gaps_ns"]:
        stamps.append(stamps[-1] + gap)
    row = the_row(tmp_path, *(event(t_ns) for t_ns in stamps))
    assert sum(row["gaps_ns"]) == case.expect["sum_ns"]


DEEP = b"[" * 100_000 + b"]" * 100_000
A, B = b'{"request_id":"a","t_ns":10}', b'{"request_id":"a","t_ns":20}'


@pytest.mark.parametrize(
    ("data", "stamps", "bad_lines"),
    [
        (A + b"\n" + B, [10, 20], []),
        (A + b"\r\n" + B + b"\r\n", [10, 20], []),
        (b"\xef\xbb\xbf" + A + b"\n" + B + b"\n", [10, 20], []),
        (A + b"\n\n  \n" + B + b"\n\n", [10, 20], []),
        (b"  " + A + b" \n\t" + B + b"\n", [10, 20], []),
        (A + b"\n" + B[:-4], [10], [2]),
        (A + B + b"\n" + B + b"\n", [20], [1]),
        (A + b"\n" + B[:14] + b"\n" + B[14:] + b"\n", [10], [2, 3]),
        (A + b"\n[" + B + b"]\n" + B + b"\n", [10, 20], [2]),
        (A + b"\n" + b"\xef\xbb\xbf" + B + b"\n", [10], [2]),
        (A + b"\n" + B + b"\0\n", [10], [2]),
        (A[:-1] + b',"x":"\xff"}\n' + B + b"\n", [20], [1]),
        (A + b"\n" + A[:-1] + b',"x":' + DEEP + b"}\n" + B, [10, 20], [2]),
        (b"", [], []),
        (b"\n\n", [], []),
        (b"x", [], [1]),
    ],
)  # fmt: skip
def test_a_damaged_file_loses_only_the_damaged_lines(
    tmp_path: Path, data: bytes, stamps: list[int], bad_lines: list[int]
) -> None:
    reading = read_own(tmp_path, data)  # with one more line break at the end
    assert [reject.line for reject in reading.intake.rejects] == bad_lines
    assert [times(row) for row in reading.rows] == ([stamps] if stamps else [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_rejected_line_is_where_it_is_said_to_be(tmp_path: Path, end: bytes) -> None:
    bad = A[:-1] + b',"kind":"x"}'
    (reject,) = read_own(tmp_path, A + end + bad + end + B + end).intake.rejects
    assert (reject.line, reject.offset, reject.length) == (2, len(A + end), len(bad))
    assert reject.sha256 == hashlib.sha256(bad).hexdigest()


def test_ids_may_be_anything(tmp_path: Path) -> None:
    ids = ["ü", "\u2028", "a\nb", '"', "x" * 100_000, "\U0001f600", "0", "null", "a\0b", "7 "]
    reading = read_own(tmp_path, *(event(n, request_id=id_) for n, id_ in enumerate(ids)))
    assert {id_: times(row) for id_, row in reading.by_id().items()} == {
        id_: [n] for n, id_ in enumerate(ids)
    }


def test_streams_come_in_the_order_of_their_first_lines(tmp_path: Path) -> None:
    lines = [event(1, request_id="c"), event(2, "sent", "b"), event(3), event(4, request_id="b")]
    assert [row["request_id"] for row in read_own(tmp_path, *lines).rows] == ["c", "b", "a"]


def test_many_small_batches_hold_the_same_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [event(10 * n, request_id=f"r{n % 7}", index=n // 7) for n in range(70)]
    whole = read_own(tmp_path, *lines, *(event(999, "done", f"r{n}") for n in range(7)))
    monkeypatch.setattr(jsonl, "BATCH_EVENTS", 15)
    parts = read_own(tmp_path, *lines, *(event(999, "done", f"r{n}") for n in range(7)))
    assert parts.rows == whole.rows
    assert [len(times(row)) for row in whole.rows] == [10] * 7


def head(*lines: Line) -> Head:
    return Head("".join(json.dumps(line) + "\n" for line in lines).encode())


@pytest.mark.parametrize(
    "line", [event(1), stream([1]), {"request_id": "a", "granularity": "aggregate"}]
)
def test_its_own_lines_are_recognised_by_it_alone(line: Line) -> None:
    recognised = [a.name for a in ADAPTERS if a.sniff(head(line)).matches]
    assert recognised == ["tokengap"] == [ADAPTERS[0].name]


def test_a_line_longer_than_the_head_is_recognised() -> None:
    data = head(stream(range(100_000))).data[: 1 << 16]
    assert TokengapJsonl().sniff(Head(data)).matches


@pytest.mark.parametrize("key", ["raw", "url_path", "read", "seq", "t_unix_ns", "metadata"])
def test_a_capture_of_payloads_is_not(key: str) -> None:
    assert TokengapJsonl().sniff(head(event(1) | {key: 1})).missing == (f"lines without {key}",)


PLACES = st.tuples(
    st.sampled_from(["a", "ü\u2028", "c"]), st.integers(0, 1), st.integers(0, 1),
    st.sampled_from([None, "client"]),
)  # fmt: skip
TOKENS = st.tuples(st.integers(0, 60), st.integers(1, 3))


def tokens_of(place: tuple[Any, ...], index: int, token: tuple[int, int]) -> Line:
    request_id, attempt, choice, vantage = place
    t_ns, tokens = token
    return {
        "request_id": request_id, "attempt": attempt, "choice": choice, "vantage": vantage,
        "t_ns": t_ns, "index": index, "n_tokens": tokens,
    }  # fmt: skip


def expected(streams: dict[tuple[Any, ...], list[tuple[int, int]]]) -> dict[tuple[Any, ...], Any]:
    """Deliveries by stream: events in index order, those of one time in a row taken together."""
    found: dict[tuple[Any, ...], list[list[int]]] = defaultdict(list)
    for place, tokens in streams.items():
        for t_ns, count in tokens:
            if found[place] and found[place][-1][0] == t_ns:
                found[place][-1][1] += count
            else:
                found[place].append([t_ns, count])
    return dict(found)


def deliveries(row: Row) -> list[list[int]]:
    counts = row["token_counts"] or [1] * len(times(row))
    return [list(one) for one in zip(times(row), counts, strict=True)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    streams=st.dictionaries(PLACES, st.lists(TOKENS, min_size=1, max_size=8), max_size=8),
    seed=st.integers(0, 1000),
    again=st.integers(0, 5),
    cut=st.floats(0, 1),
)
def test_any_order_of_the_lines_gives_the_same_streams(
    tmp_path: Path, streams: dict[Any, list[tuple[int, int]]], seed: int, again: int, cut: float
) -> None:
    lines = [
        tokens_of(place, index, token)
        for place, tokens in streams.items()
        for index, token in enumerate(tokens)
    ]
    shuffle = random.Random(seed)  # noqa: S311  # no secret
    lines += shuffle.sample(lines, min(again, len(lines)))
    shuffle.shuffle(lines)
    at = int(cut * len(lines))
    reading = read_files(tmp_path, lines[:at], lines[at:])
    names = ("request_id", "attempt", "choice", "vantage")
    assert {tuple(row[n] for n in names): deliveries(row) for row in reading.rows} == expected(
        streams
    )
    assert reading.intake.rejects == []
