import json
from pathlib import Path

import numpy as np
import pytest

from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.record_files import read_pieces, read_records
from tokengap.adapters.source import Line, Source
from tokengap.errors import InputError

RECORDS = [{"a": 1}, {"a": "]["}, {"a": {"b": [2]}}]


def found(folder: Path, text: str) -> list[tuple[int, object]]:
    path = folder / "records.json"
    path.write_text(text)
    source = Source(str(path), path)
    one_by_one = [
        (place.number if isinstance(place, Line) else place, json.loads(data))
        for place, data in read_records(source, "records of a tool")
    ]
    assert in_pieces(source) == one_by_one
    return one_by_one


def in_pieces(source: Source) -> list[tuple[int, object]]:
    """The same records from the pieces: from their text, and from their items."""
    found, items = [], []
    for piece in read_pieces(source, "records of a tool"):
        lines = piece.text.split(b"\n")
        filled = [at for at, line in enumerate(lines) if line]
        numbers = piece.numbers(np.array(filled, np.int64)).tolist()
        found += [(n, json.loads(lines[at])) for n, at in zip(numbers, filled, strict=True)]
        items += [(number_of(place), json.loads(data)) for place, data in piece.items()]
    assert items == found
    return found


def test_one_record_a_line(tmp_path: Path) -> None:
    text = "\n\n".join(json.dumps(record) for record in RECORDS)
    assert found(tmp_path, text) == list(zip([1, 3, 5], RECORDS, strict=True))


def test_a_line_that_is_no_json_is_left_to_the_reader_of_records(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text('{"a": 1}\n{"a": 2\n{"a": 3}\n')
    pairs = read_records(Source(str(path), path), "records of a tool")
    assert [data for _, data in pairs] == [b'{"a": 1}', b'{"a": 2', b'{"a": 3}']


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_of_records(tmp_path: Path, indent: int | None) -> None:
    assert found(tmp_path, json.dumps(RECORDS, indent=indent)) == list(enumerate(RECORDS))


@pytest.mark.parametrize("between", ["", "\n", " \n\n "])
def test_arrays_one_after_another_are_counted_through(tmp_path: Path, between: str) -> None:
    arrays = [json.dumps(part) for part in (RECORDS[:2], [], RECORDS[2:])]
    assert found(tmp_path, between.join(arrays) + between) == list(enumerate(RECORDS))


def test_one_record_over_several_lines(tmp_path: Path) -> None:
    assert found(tmp_path, json.dumps(RECORDS[2], indent=2)) == [(0, RECORDS[2])]


def test_no_record_at_all(tmp_path: Path) -> None:
    assert found(tmp_path, "") == []
    assert found(tmp_path, "[]\n") == []


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": ', '[{"a": 1}] oops', "[1,,2]", "[" * 100_000])
def test_a_file_that_is_no_json_is_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"records\.json: not JSON.*expected records of a tool"):
        found(tmp_path, text)
