"""Writing and reading tokengap's own log in tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.adapters.reading import Reading, Row, read_lines
from tokengap.adapters.formats.tokengap.jsonl import TokengapJsonl
from tokengap.adapters.interface import Intake, Reject
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS

Line = dict[str, Any]


def event(t_ns: int, kind: str = "token", request_id: str = "a", **more: Any) -> Line:
    return {"request_id": request_id, "t_ns": t_ns, "kind": kind, **more}


def stream(times_ns: Sequence[int], request_id: str = "a", **more: Any) -> Line:
    return {"request_id": request_id, "times_ns": list(times_ns), **more}


def read_own(folder: Path, *lines: object) -> Reading:
    return read_lines(TokengapJsonl(), folder, lines)


def the_row(folder: Path, *lines: object) -> Row:
    """The only stream of a log none of whose lines is bad."""
    reading = read_own(folder, *lines)
    assert reading.intake.rejects == []
    (row,) = reading.rows
    return row


def the_reject(folder: Path, *lines: object) -> Reject:
    (reject,) = read_own(folder, *lines).intake.rejects
    return reject


def read_files(folder: Path, *files: Sequence[Line]) -> Reading:
    """Files named 0.jsonl, 1.jsonl, ... read in one call."""
    sources = []
    for number, lines in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        sources.append(Source(path.name, path))
    intake = Intake("t", TokengapJsonl.name)
    table = pa.Table.from_batches(list(TokengapJsonl().read(sources, intake)), STREAMS)
    return Reading(table.to_pylist(), intake)


VALUES = st.sampled_from(
    [
        b"1", b"-1", b"0", b"4611686018427387904", b"9223372036854775807", b"1.0", b"1e3", b"true",
        b"null", b'"a"', b'"client"', b'"text"', b'"done"', b'"\\u0061"', b'"x:y{}"', b'"\xff"',
        b"[1]", b'{"a":1}', b'{"a":1,"a":2}', b"NaN", b"", b"[", b'"',
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        b"request_id", b"t_ns", b"attempt", b"choice", b"index", b"kind", b"n_tokens", b"vantage",
        b"clock", b"model", b"status", b"output_tokens", b"other", b"\\u0074_ns", b"times_ns",
    ]
)  # fmt: skip
PLAIN = st.integers(0, 9).map(lambda n: b'"request_id":"a","index":%d,"t_ns":%d' % (n, 10 * n))
SOME = st.lists(st.tuples(KEYS, VALUES).map(lambda kv: b'"%s":%s' % kv), max_size=3)
LINES = st.one_of(
    PLAIN.map(lambda body: b"{" + body + b"}"),
    st.tuples(PLAIN, SOME).map(lambda two: b"{" + b",".join([two[0], *two[1]]) + b"}"),
    SOME.map(lambda parts: b"{" + b",".join(parts) + b"}"),
)
BREAKS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"", b" \n", b"\0\n", b"}\n{"])
NASTY_FILES = st.lists(st.tuples(LINES, BREAKS), max_size=12).map(
    lambda pairs: b"".join(part for pair in pairs for part in pair)
)
