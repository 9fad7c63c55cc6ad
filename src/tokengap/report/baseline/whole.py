"""The whole report on a baseline as values: what page, Markdown, CSV and chart files share."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings.baseline import Baseline
from tokengap.report.banner import Banner, Tile
from tokengap.report.baseline.sections import sections
from tokengap.report.baseline.words import between, miss_name, scope, shown
from tokengap.report.whole import TRACES_SHOWN, Report
from tokengap.report.words import endings, trace_names
from tokengap.units import format_count, format_share

_TONES: Final = {
    "no measured interference": "kept", "provisioning": "missed", "interference": "stall",
}  # fmt: skip


def compose(found: Baseline) -> Report:
    """The report."""
    name = found.verdict.name
    says = name[0].upper() + name[1:] + "."
    banner = Banner(_TONES[name], says, list(found.verdict.why), list(_tiles(found)))
    title = trace_names(found.traces, TRACES_SHOWN)
    return Report("baseline", title, scope(found), banner, sections(found))


def _tiles(found: Baseline) -> Iterator[Tile]:
    misses, effect = found.any, found.effect
    if misses.missed:
        helped = format_share(misses.apart / misses.missed)
        notes = [
            f"of {format_count(misses.missed)} requests, {miss_name(misses)}",
            f"chunked prefill: {format_share(misses.chunked / misses.missed)}",
            f"neither: {format_share(misses.neither / misses.missed)}",
        ]
        yield Tile("Separation could help, at most", [helped], notes)
    if effect.exposed_gaps:
        notes = [
            f"{between(effect.exposed_gap_ns)}",
            f"without: {shown(effect.calm_gap_ns.value)} ({between(effect.calm_gap_ns)})",
        ]
        yield Tile("Mean gap beside a prefill", [shown(effect.exposed_gap_ns.value)], notes)
    if effect.explained_share.value is not None:
        notes = [f"95 % interval {between(effect.explained_share, format_share)}"]
        yield Tile(
            "Excess of long gaps that prefills explain",
            [format_share(effect.explained_share.value)],
            notes,
        )
    completed, *others = endings(found.counts) or ["no requests"]
    yield Tile("Requests", [completed], others)
