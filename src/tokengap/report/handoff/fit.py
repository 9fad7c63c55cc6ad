"""Overhead and bandwidth from the handoffs of a log, `tokengap.handoff.fit/1`.

Fields are only added to its JSON.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from tokengap.findings.audit import Row
from tokengap.handoff.fitting import NS_PER_S, Estimate, Fit, fit
from tokengap.handoff.links import Exact
from tokengap.report.document import Document
from tokengap.report.handoff.observed import Handoffs, Observed
from tokengap.report.numbers import columns, number
from tokengap.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_share,
)

SCHEMA: Final = "tokengap.handoff.fit/1"
ALL: Final = "all"
_PERCENTILES: Final = ((10, "p10"), (50, "p50"), (90, "p90"), (100, "largest"))


@dataclass(frozen=True)
class FitReport:
    """Handoffs of a log, and what to hold the fitted line against."""

    handoffs: Handoffs
    nominal_bytes_per_s: Fraction | None = None
    """Of the link, by its name plate."""
    step_ns: Exact | None = None
    """One decode step: part of a handoff by boundary `stream`, added to one by any other."""
    limit_ns: Exact | None = None
    """On the first gap."""

    @cached_property
    def fits(self) -> dict[str, Fit]:
        """The fit of all handoffs, and of each pair of workers where there are several."""
        found = {ALL: _fitted(self.handoffs.handoffs)}
        pairs = sorted({one.pair for one in self.handoffs.handoffs})
        if len(pairs) > 1:
            for pair in pairs:
                own = [one for one in self.handoffs.handoffs if one.pair == pair]
                found[pair] = _fitted(own)
        return found

    @property
    def whole(self) -> Fit:
        """The fit of all handoffs."""
        return self.fits[ALL]

    def first_gap_ns(self, handoff_ns: float) -> float | None:
        """What a user waits for the second token; None if it takes a step that is not known."""
        if self.handoffs.boundary == "stream":
            return handoff_ns
        return None if self.step_ns is None else handoff_ns + float(self.step_ns)

    def redrawn(self) -> Iterator[Row]:
        """The budget at sizes of the log: by the fit, and by the link's nominal rate alone."""
        sizes = [one.size_bytes for one in self.handoffs.handoffs]
        for percentile, name in _PERCENTILES:
            size = float(np.percentile(sizes, percentile))
            yield {
                "size": name,
                "cache_bytes": size,
                "nominal_ns": self._nominal_ns(size),
                **self._expected(size),
            }

    def _nominal_ns(self, size: float) -> float | None:
        if self.nominal_bytes_per_s is None:
            return None
        return size / float(self.nominal_bytes_per_s) * NS_PER_S

    def _expected(self, size: float) -> Row:
        fitted_ns = self.whole.time_ns(size)
        gap_ns = None if fitted_ns is None else self.first_gap_ns(fitted_ns)
        judged = gap_ns is not None and self.limit_ns is not None
        met = gap_ns <= self.limit_ns if gap_ns is not None and self.limit_ns is not None else None
        verdict = ("met" if met else "missed") if judged else None
        return {"fitted_ns": fitted_ns, "first_gap_ns": gap_ns, "verdict": verdict}


def _fitted(handoffs: Sequence[Observed]) -> Fit:
    sizes = np.array([one.size_bytes for one in handoffs])
    times = np.array([float(one.time_ns) for one in handoffs])
    return fit(sizes, times)


def fitted(report: FitReport) -> Document:
    """The fit as text and JSON."""
    return Document(_record(report), _text(report))


def handoff_rows(report: FitReport) -> Iterator[Row]:
    """One row for each handoff: what was seen, and what the fit of all says."""
    for one in report.handoffs.handoffs:
        fitted_ns = report.whole.time_ns(one.size_bytes)
        yield {
            "request_id": one.request,
            "prefill_worker": one.prefill_worker,
            "decode_worker": one.decode_worker,
            "cache_bytes": one.size_bytes,
            "handoff_ns": one.time_ns,
            "fitted_ns": fitted_ns,
            "residual_ns": None if fitted_ns is None else one.time_ns - fitted_ns,
        }


def _record(report: FitReport) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "boundary": report.handoffs.boundary,
        "sizes_from": report.handoffs.sizes_from,
        "left_out": list(report.handoffs.left_out),
        "fits": [{"workers": name, **asdict(found)} for name, found in report.fits.items()],
        "nominal_bandwidth_bytes_per_s": number(report.nominal_bytes_per_s),
        "step_ns": number(report.step_ns),
        "limit_ns": number(report.limit_ns),
        "redrawn": list(report.redrawn()),
        "assumptions": list(assumed(report)),
    }


def assumed(report: FitReport) -> Iterator[str]:
    """What the numbers take for granted, and what they hold."""
    boundary = report.handoffs.boundary
    yield f"time by boundary {boundary}; {report.handoffs.sizes_from}"
    if boundary == "stream":
        yield "the overhead holds one decode step, for the gap does"
    yield "overhead holds all that does not grow with bytes: waiting in queues as well"
    yield from (f"left out: {line}" for line in report.handoffs.left_out)


def summary(report: FitReport) -> str:
    """What the handoffs say, in a sentence."""
    found = report.whole
    if found.cannot_tell is not None:
        return f"Cannot tell: {found.cannot_tell}."
    return (
        f"A handoff takes {format_duration(found.overhead_ns.value or 0)} and the time of its "
        f"bytes at {_rate(found.bandwidth_bytes_per_s.value)}."
    )


def explained(report: FitReport) -> str:
    """What share of the handoffs' variance bytes explain."""
    share = report.whole.explained_share
    if share is None:
        return "No share can be told: times or sizes are all alike."
    return f"Bytes explain {format_share(share)} of the variance of the time, at most."


def fit_rows(report: FitReport) -> Iterator[tuple[str, ...]]:
    """Each fit: whose, n, overhead, bandwidth, spread, share."""
    for name, found in report.fits.items():
        spread, share = found.residual_spread_ns, found.explained_share
        yield (
            name,
            format_count(found.handoffs),
            _interval(found.overhead_ns, format_duration),
            _interval(found.bandwidth_bytes_per_s, _rate),
            "-" if spread is None else format_duration(spread),
            "-" if share is None else format_share(share),
            found.cannot_tell or "",
        )


FIT_COLUMNS: Final = (
    "workers", "n", "overhead", "bandwidth", "residual spread", "explained", "cannot tell",
)  # fmt: skip
BUDGET_COLUMNS: Final = ("cache", "bytes", "nominal", "fitted", "first gap", "verdict")


def budget_rows(report: FitReport) -> Iterator[tuple[str, ...]]:
    """The budget at sizes of the log."""
    for row in report.redrawn():
        times = (row["nominal_ns"], row["fitted_ns"], row["first_gap_ns"])
        shown = ("-" if ns is None else format_duration(ns) for ns in times)
        yield (
            row["size"],
            format_bytes(int(row["cache_bytes"])),
            *shown,
            row["verdict"] or "-",
        )


def _interval(found: Estimate, show: Any) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "-"
    return f"{show(found.value)} ({show(found.low)} to {show(found.high)})"


def _rate(bytes_per_s: float | None) -> str:
    return "-" if bytes_per_s is None else format_bandwidth(Fraction(bytes_per_s))


def _text(report: FitReport) -> str:
    return "\n".join(
        [
            f"{summary(report)}\n{explained(report)}\n",
            "Fitted, with 95 % intervals\n" + columns([FIT_COLUMNS, *fit_rows(report)]),
            "The budget at the log's sizes\n" + columns([BUDGET_COLUMNS, *budget_rows(report)]),
            "Assumed\n" + "".join(f"- {line}\n" for line in assumed(report)),
        ]
    )
