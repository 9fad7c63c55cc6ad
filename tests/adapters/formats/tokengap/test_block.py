"""Reading in bulk and reading line by line give the same rows and the same rejects."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.adapters.formats.tokengap.own_log import NASTY_FILES, read_own
from tests.adapters.reading import Reading
from tokengap.adapters.formats.tokengap import jsonl
from tokengap.adapters.formats.tokengap.bulk import BulkReader
from tokengap.adapters.formats.tokengap.line import read
from tokengap.adapters.shared import json_blocks

GOOD = b'{"request_id":"g","t_ns":1,"index":0}'


def knowing_all(columns: pa.Schema, expected: pa.Schema) -> BulkReader:
    reader = BulkReader(columns, expected)
    facts = ("model", "status", "kv_bytes", "output_tokens")
    reader.learn(dict.fromkeys((*columns.names, *facts), 0) | {"other": 1})
    return reader


def both_ways(folder: Path, *lines: object) -> tuple[Reading, Reading]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_blocks, "LEAF_BYTES", 1)
        patch.setattr(jsonl, "BulkReader", knowing_all)
        in_bulk = read_own(folder, *lines)
        patch.setattr(BulkReader, "_parse", lambda *_: None)
        singly = read_own(folder, *lines)
    return in_bulk, singly


def agree(in_bulk: Reading, singly: Reading) -> bool:
    return in_bulk.rows == singly.rows and in_bulk.intake.rejects == singly.intake.rejects


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=NASTY_FILES)
def test_they_agree_on_nasty_files(tmp_path: Path, data: bytes) -> None:
    assert agree(*both_ways(tmp_path, data))


@pytest.mark.parametrize(
    "field",
    [
        '"n_tokens":0', '"index":-1', '"attempt":-1', '"choice":-1', '"kind":"x"',
        '"vantage":"x"', '"t_ns":null', '"t_ns":4611686018427387905', '"request_id":""',
        '"request_id":null', '"n_tokens":true', '"status":"x"', '"kv_bytes":-1',
    ],
)  # fmt: skip
def test_they_refuse_the_same_values(tmp_path: Path, field: str) -> None:
    name = field.partition(":")[0]
    good = {'"request_id"': '"request_id":"a"', '"t_ns"': '"t_ns":7', '"index"': '"index":0'}
    bad = "{" + ",".join((good | {name: field}).values()) + "}"
    in_bulk, singly = both_ways(tmp_path, GOOD, bad, GOOD)
    assert [reject.line for reject in singly.intake.rejects] == [2]
    assert agree(in_bulk, singly)


FACTS = st.sampled_from(
    ["", ',"model":"m"', ',"model":"n"', ',"status":"failed"', ',"status":"bad"', ',"kv_bytes":-1']
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(facts=st.lists(st.tuples(st.sampled_from("ab"), FACTS, FACTS), min_size=1, max_size=10))
@example([("a", ',"status":"bad"', "")] * 3 + [("a", ',"status":"failed"', "")])
@example([("a", ',"status":"bad"', "")] * 2 + [("a", ',"kv_bytes":-1', "")])
@example([("a", "", ""), ("b", "", ',"model":"m"'), ("a", "", ',"model":"m"')])
@example([("a", ',"model":"m"', ',"kv_bytes":-1'), ("a", ',"model":"m"', "")])
def test_a_fact_on_many_lines_is_judged_as_on_each(
    tmp_path: Path, facts: list[tuple[str, str, str]]
) -> None:
    lines = [
        f'{{"request_id":"{request_id}","t_ns":{10 * n},"index":{n}{one}{other}}}'
        for n, (request_id, one, other) in enumerate(facts)
    ]
    assert agree(*both_ways(tmp_path, *lines))


def test_few_lines_of_a_plain_log_are_read_singly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    singly: list[bytes] = []

    def counted(data: bytes) -> object:
        singly.append(data)
        return read(data)

    monkeypatch.setattr("tokengap.adapters.formats.tokengap.block.read", counted)
    line = b'{"request_id":"a","index":%d,"t_ns":%d,"kind":"text","model":"m"}'
    reading = read_own(tmp_path, *(line % (n, n) for n in range(20_000)))
    assert reading.intake.rejects == []
    assert [(row["output_tokens"], row["model"]) for row in reading.rows] == [(20_000, "m")]
    assert len(singly) < 2 * json_blocks.LEAF_BYTES // len(line)
