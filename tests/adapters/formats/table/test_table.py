"""The samples are a capture as tables: they tell what the capture tells, to the nanosecond."""

import pytest

from tests.adapters.formats.table.tables import read_file
from tests.adapters.reading import SAMPLES, Row, read, times
from tokengap.adapters.formats.sse.capture import Sse
from tokengap.adapters.formats.table.table import Table
from tokengap.adapters.interface import Head
from tokengap.errors import UsageError

TABLES = SAMPLES / "table"


def captured() -> dict[str, Row]:
    return read(Sse(), SAMPLES / "sse" / "sse_pd_forward.jsonl.gz").by_id()


@pytest.mark.parametrize("name", ["requests.csv", "tokens.csv.gz"])
def test_samples(name: str) -> None:
    mapping = (TABLES / name).with_name(f"{name.split('.', maxsplit=1)[0]}.toml").read_text("utf-8")
    reading = read_file(TABLES / name, mapping)
    assert reading.intake.rejects == []
    expected = captured()
    assert sorted(row["request_id"] for row in reading.rows) == sorted(expected)
    for row in reading.rows:
        of_capture = expected[row["request_id"]]
        assert times(row) == times(of_capture)
        assert row["sent_ns"] == of_capture["sent_ns"]
        assert row["status"] == of_capture["status"]
        if name == "requests.csv":
            assert row["output_tokens"] == of_capture["output_tokens"]


def test_without_a_map_it_says_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"needs --map FILE\.toml"):
        read_file(TABLES / "requests.csv", None)


def test_a_map_that_names_no_column_is_refused() -> None:
    mapping = 'rows = "request"\nvantage = "client"\n[columns]\nmodel = { value = "m" }\n'
    with pytest.raises(UsageError, match="no column of the table is named"):
        read_file(TABLES / "requests.csv", mapping)


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b'{"a": 1}\n', b"PAR1", b""])
def test_no_file_is_taken_for_a_table(data: bytes) -> None:
    assert not Table().sniff(Head(data)).matches
