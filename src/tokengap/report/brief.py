"""An audit in a notebook: the verdict and the tables it rests on, as a piece of HTML.

It holds no script, and every text of a log is escaped. Colours are the notebook's own but for the
verdict's mark, so that it can be read in light and dark.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tokengap.report.banner import banner
from tokengap.report.page import template
from tokengap.report.section import Subject, Table
from tokengap.report.sections.causes import CAUSE_COLUMNS, cause_rows
from tokengap.report.sections.hidden_stalls import hidden_stalls
from tokengap.report.sections.latency import latency
from tokengap.report.sections.objectives import objectives
from tokengap.report.words import THIN, trace_names
from tokengap.units import format_count

ROWS_SHOWN: Final = 10
TRACES_SHOWN: Final = 4


def brief(subject: Subject) -> str:
    """The piece of HTML; the connection is not used, so that it may be closed."""
    return template("brief.html.j2").render(
        traces=trace_names(subject.audit.traces, TRACES_SHOWN),
        scope=subject.scope,
        banner=banner(subject.audit),
        tables=list(_tables(subject)),
    )


def _tables(subject: Subject) -> Iterator[tuple[str, Table, str]]:
    """Title and first rows of each table, and what to know about them."""
    for section in (objectives(subject), hidden_stalls(subject), latency(subject)):
        if section and section.table:
            yield _cut(section.title, section.table)
    if found := cause_rows(subject.audit):
        yield _cut("Why gaps were long", Table(CAUSE_COLUMNS, found, ("cause", "how known")))


def _cut(title: str, table: Table) -> tuple[str, Table, str]:
    more = len(table.rows) - ROWS_SHOWN
    cells = (cell for row in table.rows for cell in row)
    notes = [f"and {format_count(more)} more"] if more > 0 else []
    notes += [THIN] if any(cell.endswith("*") for cell in cells) else []
    return title, replace(table, rows=table.rows[:ROWS_SHOWN]), "; ".join(notes)
