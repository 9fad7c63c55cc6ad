from pathlib import Path

import msgspec
import pytest

from tokengap.adapters.shared.documents import document
from tokengap.adapters.source import Source
from tokengap.errors import InputError


class Report(msgspec.Struct):
    rows: list[msgspec.Raw]
    rate: float | None = None


def read(folder: Path, data: str | bytes) -> Report:
    path = folder / "report.json"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return document(Source(str(path), path), Report, "a report")


def test_records_are_not_looked_into(tmp_path: Path) -> None:
    report = read(tmp_path, '{"rows": [{"a": 1}, 7, {"a": 1, "a": 2}]}')
    assert [bytes(row) for row in report.rows] == [b'{"a": 1}', b"7", b'{"a": 1, "a": 2}']


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    text = r'{"rate": Infinity, "rows": [{"a": NaN, "b": -Infinity, "c": "NaN \" Infinity"}]}'
    report = read(tmp_path, text)
    assert report.rate is None
    assert bytes(report.rows[0]) == rb'{"a": null, "b": null, "c": "NaN \" Infinity"}'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "not one whole JSON document"),
        ('{"rows": [{"a": 1}', "not one whole JSON document"),
        ('{"rows": [NaN', "not one whole JSON document"),
        ('{"rows": []} {"rows": []}', "not one whole JSON document"),
        ('{"rows": []} \\u00ff', "not one whole JSON document"),
        ('{"rows": ' + "[" * 100_000, "not one whole JSON document"),
        ('{"rows": {}}', r"Expected `array`, got `object` - at `\$.rows`"),
        ("{}", "missing required field `rows`"),
        ("[]", "Expected `object`, got `array`"),
    ],
)
def test_what_is_no_such_document_is_refused(tmp_path: Path, data: str, reason: str) -> None:
    with pytest.raises(InputError, match=rf"report\.json: .*{reason}.*expected a report"):
        read(tmp_path, data)
