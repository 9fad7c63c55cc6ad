"""The rows behind every chart and table, as CSV: one text per section.

A cell that a spreadsheet would run as a formula gets an apostrophe in front, which makes it text.
Numbers stay as they are, NULL is an empty cell, nested values are JSON.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tokengap.report.rows import cell
from tokengap.report.section import Section
from tokengap.report.whole import Report

# A spreadsheet that splits at semicolons or tabs sees a cell after each of them.
_FORMULA: Final = re.compile(r"(?:\A|(?<=[;\t\r\n]))(?=[\s\"']*[=+\-@\uff1d\uff0b\uff0d\uff20]\S)")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")


def csv_files(report: Report) -> Iterator[tuple[str, str]]:
    """Name and text of each section that has rows."""
    for section in report.sections:
        columns, rows = _rows(section)
        if rows:
            yield section.name, _csv(columns, rows)


def inert(value: object) -> object:
    """The cell, so that no spreadsheet runs it.

    >>> inert("=1+1"), inert("-5"), inert(-5)
    ("'=1+1", '-5', -5)
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return _FORMULA.sub("'", value)


def _rows(section: Section) -> tuple[Sequence[str], list[list[Any]]]:
    """Values where the section has them; its table of text otherwise."""
    if section.data:
        names = list(dict.fromkeys(name for row in section.data for name in row))
        return names, [[row.get(name) for name in names] for row in section.data]
    if section.table:
        return section.table.columns, [list(row) for row in section.table.rows]
    return (), []


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([inert(cell(value)) for value in row] for row in rows)
    return out.getvalue()
