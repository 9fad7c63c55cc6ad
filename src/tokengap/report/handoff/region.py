"""The budget over two parameters, `tokengap.handoff.region/1`; fields are only added to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isnan
from typing import Any, Final

from tokengap.errors import UsageError
from tokengap.findings.audit import Row
from tokengap.handoff import Limits, assumptions
from tokengap.handoff.budget import PROMISES, limit_of
from tokengap.handoff.links import NS_PER_S, Exact
from tokengap.handoff.parameters import Case
from tokengap.handoff.region import Axis, Edge, Swept, edges, sweep
from tokengap.report.document import Document
from tokengap.report.handoff.observed import Handoffs, Observed
from tokengap.report.handoff.scales import Scaled
from tokengap.report.numbers import columns, number
from tokengap.units import format_count, format_ms

SCHEMA: Final = "tokengap.handoff.region/1"
COLUMNS_SHOWN: Final = 12
ROWS_SHOWN: Final = 40
_STOPS: Final = 33  # between two of which one change of the verdict is found


@dataclass(frozen=True)
class RegionReport:
    """A case, the limits it is judged by, and the two parameters that are varied."""

    case: Case
    limits: Limits
    x: Axis
    y: Axis
    handoffs: Handoffs | None = None
    """Of a trace, to be laid over cache against bandwidth."""

    def __post_init__(self) -> None:
        names = {self.x.parameter.name, self.y.parameter.name}
        if self.handoffs is not None and names != {"cache", "bandwidth"}:
            raise UsageError("a trace can only be laid over cache and bandwidth; keep these axes")

    @cached_property
    def swept(self) -> Swept:
        """Every pair, judged."""
        return sweep(self.case, self.limits, self.x, self.y)

    @property
    def judged(self) -> bool:
        """Some limit is given."""
        return any(limit_of(self.limits, name) is not None for name in PROMISES)

    @property
    def varied(self) -> str:
        """The two parameters in words."""
        return f"{Scaled(self.y).title} by {Scaled(self.x).title}"

    def boundary(self, xs: Sequence[Exact]) -> Iterator[tuple[Exact, Edge]]:
        """At each x, the last y that passes, within the ends of the chart."""
        return self._crossings(self.x, xs, self.y)

    def boundary_upright(self, ys: Sequence[Exact]) -> Iterator[tuple[Exact, Edge]]:
        """At each y, the last x that passes: where the boundary rises straight, it is only here."""
        return self._crossings(self.y, ys, self.x)

    def _crossings(
        self, fixed: Axis, values: Sequence[Exact], moved: Axis
    ) -> Iterator[tuple[Exact, Edge]]:
        stops = sorted({Fraction(stop) for stop in Scaled(moved).fine(_STOPS)})
        for value in values:
            at = fixed.parameter.put(self.case, value)
            for edge in edges(at, self.limits, moved.parameter, stops):
                yield value, edge

    @cached_property
    def placed(self) -> list[tuple[Observed, float]]:
        """Each handoff of the trace with the bandwidth at which this budget would take its time.

        A handoff no longer than what is fixed has none.
        """
        return list(self._placed())

    def _placed(self) -> Iterator[tuple[Observed, float]]:
        if self.handoffs is None:
            return
        handoff = self.case.handoff
        fixed_ns = float(handoff.overhead_ns)
        fixed_ns += float(handoff.step_ns) if self.handoffs.boundary == "stream" else 0.0
        for one in self.handoffs.handoffs:
            waited = Fraction(max(one.time_ns - fixed_ns, 0.0))
            transfer_ns = float(handoff.overlap.longest_transfer_ns(waited))
            if waited > 0 and one.size_bytes > 0:
                yield one, one.size_bytes * float(handoff.link.load) * NS_PER_S / transfer_ns


def region(report: RegionReport) -> Document:
    """The sweep as text and JSON."""
    return Document(_record(report), _text(report))


def cells(report: RegionReport) -> Iterator[Row]:
    """One row for each pair; None where a response of one token has nothing to measure."""
    swept = report.swept
    keys = report.x.parameter.key, report.y.parameter.key
    for row, y in enumerate(report.y.values):
        for column, x in enumerate(report.x.values):
            yield {
                keys[0]: number(Fraction(x)),
                keys[1]: number(Fraction(y)),
                "ttft_ns": float(swept.ttft_ns[row, column]),
                "first_gap_ns": _known(swept.first_gap_ns[row, column]),
                "tpot_ns": _known(swept.tpot_ns[row, column]),
                "met": bool(swept.met[row, column]) if report.judged else None,
            }


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _record(report: RegionReport) -> dict[str, Any]:
    limits = {name: number(limit_of(report.limits, name)) for name in PROMISES}
    return {
        "schema": SCHEMA,
        "x": report.x.parameter.key,
        "y": report.y.parameter.key,
        "limits_ns": limits,
        "met": int(report.swept.met.sum()) if report.judged else None,
        "points": int(report.swept.met.size),
        "cells": list(cells(report)),
        "boundary": [
            {report.x.parameter.key: number(Fraction(x)), report.y.parameter.key: float(y.value)}
            for x, y in (report.boundary(report.x.values) if report.judged else ())
        ],
        "observed": [
            {"request_id": one.request, "cache_bytes": one.size_bytes, "handoff_ns": one.time_ns}
            | {"bandwidth_bytes_per_s": rate}
            for one, rate in report.placed
        ],
        "assumptions": assumed(report),
    }


def assumed(report: RegionReport) -> list[str]:
    """What the numbers take for granted."""
    return assumptions(report.case.handoff)


def _text(report: RegionReport) -> str:
    x, y = Scaled(report.x), Scaled(report.y)
    if len(report.x.values) > COLUMNS_SHOWN or len(report.y.values) > ROWS_SHOWN:
        shown = f"{format_count(report.swept.met.size)} points: --csv and --html hold them all\n"
    else:
        head = (f"{y.title} \\ {x.title}", *(x.shown(value) for value in report.x.values))
        shown = columns([head, *_lines(report)])
    return "\n".join(
        [
            f"First gap, {report.varied}\n{shown}",
            f"{summary(report)}\n",
            "Assumed\n" + "".join(f"- {line}\n" for line in assumed(report)),
        ]
    )


def _lines(report: RegionReport) -> Iterator[tuple[str, ...]]:
    y = Scaled(report.y)
    for value, gaps, met in zip(
        report.y.values, report.swept.first_gap_ns, report.swept.met, strict=True
    ):
        yield (
            y.shown(value),
            *(_cell(gap, ok=bool(ok)) for gap, ok in zip(gaps, met, strict=True)),
        )


def _cell(gap_ns: float, *, ok: bool) -> str:
    shown = "-" if isnan(gap_ns) else format_ms(Fraction(float(gap_ns)))
    return shown if ok else f"{shown} *"


def summary(report: RegionReport) -> str:
    """How many points keep every promise."""
    if not report.judged:
        return "No limits were given, so nothing is judged."
    met, points = int(report.swept.met.sum()), report.swept.met.size
    missed = "" if met == points else "; * misses one"
    return f"{format_count(met)} of {format_count(points)} points keep every promise{missed}"
