"""What the page is made of: sections, each with its own numbers of samples and its boundary."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb

from tokengap.findings import Audit, Finding
from tokengap.findings.audit import Row, rows
from tokengap.report.theme import Place
from tokengap.report.words import boundary, window
from tokengap.slo import sql_parameter
from tokengap.store.sql import literal


@dataclass(frozen=True)
class Subject:
    """What a section is about.

    con: a connection with the query library bound, to the logs that were audited.
    """

    con: duckdb.DuckDBPyConnection
    audit: Audit

    @property
    def scope(self) -> str:
        """Vantage, origin and window in words: what the numbers of a section are about."""
        return f"{boundary(self.audit)} · {window(self.audit)}"

    @property
    def asked(self) -> str:
        """The limits as the argument of a query."""
        return literal(sql_parameter(self.audit.objectives))

    @property
    def limits_ns(self) -> dict[str, int]:
        """Limits by statistic."""
        return {objective.statistic: objective.limit_ns for objective in self.audit.objectives}

    @cached_property
    def timelines(self) -> list[Row]:
        """Rows of the query `request_timelines`: one chart draws them, another picks from them."""
        return rows(self.con, f"FROM request_timelines({self.asked})")


@dataclass(frozen=True)
class Table:
    """Rows of text under named columns; `words` names the columns that hold no numbers.

    tones: a word for each row that says how it looks: missed, kept or open. tight: every cell is
    short enough to stand in one line.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str]
    tones: Sequence[str] = ()
    tight: bool = False


@dataclass(frozen=True)
class Key:
    """One line of a chart's legend: a mark, what it stands for, and how many requests."""

    place: Place
    says: str
    count: str


@dataclass(frozen=True)
class Section:
    """One heading of the report.

    name: what its files are called. samples: n, and whether it counts requests or gaps. scope: as
    in `Subject`. legend, chart (a Vega-Lite specification), table, findings, terms: what is shown.
    data: the rows behind chart and table. notes: how to read it, or why there is nothing to show.
    """

    name: str
    title: str
    samples: str
    scope: str
    legend: Sequence[Key] = ()
    chart: dict[str, Any] | None = None
    data: Sequence[Row] = ()
    table: Table | None = None
    findings: Sequence[Finding] = ()
    terms: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


Build = Callable[[Subject], Section | None]
"""Makes one section; None where it has no place on the page."""
