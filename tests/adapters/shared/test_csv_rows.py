"""Rows of a table come whole and in order, and a bad one costs only itself."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared import csv_rows
from tokengap.adapters.shared.csv_rows import Csv
from tokengap.adapters.source import Source
from tokengap.errors import InputError

Read = tuple[list[tuple[int, list[str | None]]], list[tuple[int, str]]]


def read(folder: Path, data: bytes, wanted: tuple[str, ...] = ("a", "b")) -> Read:
    """Good rows and bad ones, each with its line."""
    path = folder / "table.csv"
    path.write_bytes(data)
    source, intake = Source(str(path), path), Intake("t", "table")
    table = Csv(source)
    found: list[tuple[int, list[str | None]]] = []
    for block in table.blocks():
        for rows in table.rows(block, wanted, intake):
            columns = [rows.columns[name].to_pylist() for name in wanted]
            cells = [list(row) for row in zip(*columns, strict=True)]
            assert [rows.place(row).number for row in range(len(rows))] == rows.numbers.tolist()
            found += zip(rows.numbers.tolist(), cells, strict=True)
    return found, [(reject.line, reject.reason) for reject in intake.rejects]


def test_cells_are_text_by_the_name_of_their_column(tmp_path: Path) -> None:
    assert read(tmp_path, b"b,x,a\n1,2,3\n,5,6\n") == ([(2, ["3", "1"]), (3, ["6", None])], [])


def test_line_ends_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf\r\na,b\r\n\r\n1,2\r\n\r\n   \n3,4"
    assert read(tmp_path, data) == ([(4, ["1", "2"]), (7, ["3", "4"])], [])


def test_a_cell_in_quotes_may_hold_anything(tmp_path: Path) -> None:
    data = b'a,b\n"1,""x""\n\ny",2\n3,"4"\n'
    assert read(tmp_path, data) == ([(2, ['1,"x"\n\ny', "2"]), (5, ["3", "4"])], [])


def test_a_bad_row_costs_only_itself(tmp_path: Path) -> None:
    data = b"a,b\n1,2\n3\n4,5,6\n\xff,7\n8,9\n"
    good, bad = read(tmp_path, data)
    assert good == [(2, ["1", "2"]), (6, ["8", "9"])]
    assert bad == [
        (3, "2 cells expected, and there are 1"),
        (4, "2 cells expected, and there are 3"),
        (5, "not UTF-8 text"),
    ]


def test_a_quote_that_is_never_closed_costs_only_its_row(tmp_path: Path) -> None:
    data = b'a,b\n1,2\n3,"oops\n' + b'5,"q"\n' * 3 + b"6,7\n"
    good, bad = read(tmp_path, data)
    assert [line for line, _ in good] == [2, 4, 5, 6, 7]
    assert good[-1] == (7, ["6", "7"])
    assert [line for line, _ in bad] == [3]


def test_a_bad_row_over_several_lines_is_one(tmp_path: Path) -> None:
    data = b'a,b\n1,"x\n5,6\ny",2\n3,4\n'
    assert read(tmp_path, data) == (
        [(5, ["3", "4"])], [(2, "2 cells expected, and there are 3")],
    )  # fmt: skip


def test_a_reject_points_at_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,2\n3\n")
    source, intake = Source(str(path), path), Intake("t", "table")
    table = Csv(source)
    for block in table.blocks():
        list(table.rows(block, ("a",), intake))
    (reject,) = intake.rejects
    assert (reject.offset, reject.length) == (8, 1)


def test_a_name_that_is_not_there_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 columns are called 'a'"):
        read(tmp_path, b"a,b,a\n1,2,3\n")


def test_names_may_be_given_where_the_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"1;2\n")
    table = Csv(Source(str(path), path), ("a", "b"), ";")
    (rows,) = (rows for b in table.blocks() for rows in table.rows(b, ("b",), Intake("t", "table")))
    assert rows.columns["b"].to_pylist() == ["2"]
    assert rows.numbers.tolist() == [1]


CELLS = st.text(st.sampled_from('ab1,;"\n\r \u00e9'), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=20), size=st.integers(1, 40))
def test_what_the_standard_library_writes_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: list[tuple[str, str, str]], size: int
) -> None:
    monkeypatch.setattr(csv_rows, "BLOCK_BYTES", size)
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("a", "b", "c"), *table])
    good, bad = read(tmp_path, text.getvalue().encode(), ("a", "b", "c"))
    monkeypatch.undo()
    assert [cells for _, cells in good] == [[cell or None for cell in row] for row in table]
    assert bad == []
