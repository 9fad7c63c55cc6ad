"""The whole report as values: what the page, Markdown, the CSV files and the chart files share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from tokengap.findings import Audit
from tokengap.findings.audit import rows
from tokengap.report.banner import Banner, banner
from tokengap.report.section import Section, Subject
from tokengap.report.sections import sections
from tokengap.report.words import dates, trace_names
from tokengap.units import format_count

TRACES_SHOWN: Final = 8


@dataclass(frozen=True)
class Report:
    """What was found, ready to be written in any form.

    kind: what was done, such as audit. title: what it was done to, such as the names of traces.
    scope: what the numbers are about: of an audit streams, vantage, origin, window and dates.
    stamp: what the foot of the page says instead of when it was made, for one that can be remade.
    """

    kind: str
    title: str
    scope: str
    banner: Banner
    sections: Sequence[Section]
    stamp: str | None = None


def compose(con: duckdb.DuckDBPyConnection, audit: Audit) -> Report:
    """The report; the connection must have the query library loaded and bound to the same logs."""
    subject = Subject(con, audit)
    streams = f"{format_count(audit.counts['streams'])} streams"
    days = dates(audit) if _on_wall_clocks(con) else None
    return Report(
        kind="audit",
        title=trace_names(audit.traces, TRACES_SHOWN),
        scope=" · ".join(filter(None, (streams, subject.scope, days))),
        banner=banner(audit),
        sections=sections(subject),
    )


def _on_wall_clocks(con: duckdb.DuckDBPyConnection) -> bool:
    kinds = rows(con, "SELECT DISTINCT clock_kind FROM streams")
    return [row["clock_kind"] for row in kinds] == ["wall"]
