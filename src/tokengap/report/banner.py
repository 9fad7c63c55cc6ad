"""The verdict at the top of the page: what was promised, what was kept, what the average hides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.findings.hidden_stalls import hidden_stalls
from tokengap.report.words import (
    TRY_LIMITS,
    asides,
    binding,
    endings,
    name_of,
    position,
    request_name,
    share,
)
from tokengap.units import format_count, format_duration, format_share


@dataclass(frozen=True)
class Tile:
    """A number of the verdict (or a few that belong together), and what to know about it."""

    title: str
    values: Sequence[str]
    notes: Sequence[str]


@dataclass(frozen=True)
class Banner:
    """The verdict in one sentence, and the numbers that carry it.

    tone: stall, missed, kept, or open where nothing can be judged.
    """

    tone: str
    says: str
    more: Sequence[str]
    tiles: Sequence[Tile]


def banner(audit: Audit) -> Banner:
    """The verdict on an audit."""
    tone, says, more = _verdict(audit)
    return Banner(tone, says, more, list(_tiles(audit)))


def _verdict(audit: Audit) -> tuple[str, str, list[str]]:
    whole = audit.attainment
    if not audit.counts["completed"]:
        ended = ", ".join(endings(audit.counts)) or "no requests"
        tone = "missed" if whole["offered"] else "open"
        return tone, f"No request completed: {ended}.", []
    if not audit.objectives:
        return "open", "No limits were given, so nothing is judged.", [f"Try {TRY_LIMITS}."]
    kept = f"{format_count(whole['good'])} of {format_count(whole['offered'])} offered requests"
    tone = "kept" if whole["good"] == whole["offered"] else "missed"
    if not audit.judges_stalls:
        hint = f"Hidden stalls need limits on both tpot and worst_gap; try {TRY_LIMITS}."
        return tone, f"{kept} kept every limit.", [hint]
    first, *others = hidden_stalls(audit)
    return ("stall" if audit.hidden else tone), first.says, [finding.says for finding in others]


def _tiles(audit: Audit) -> Iterator[Tile]:
    if audit.objectives:
        promised = [
            f"{name_of(audit, o.statistic)} ≤ {format_duration(o.limit_ns)}"
            for o in audit.objectives
        ]
        yield Tile("Promised", promised, [])
        yield _kept(audit)
    if audit.judges_stalls:
        yield _hidden(audit)
    elif audit.ratios:
        yield _ratio(audit)
    completed, *others = [*endings(audit.counts), *asides(audit.counts)] or ["no requests"]
    yield Tile("Requests", [completed], others)


def _kept(audit: Audit) -> Tile:
    whole = audit.attainment
    attainment, within = share(whole)
    good = f"{format_count(whole['good'])} good of {format_count(whole['offered'])} offered"
    notes = [good, f"95 % interval {within}"]
    return Tile("Kept", [attainment], [*notes, *filter(None, [binding(audit)])])


def _hidden(audit: Audit) -> Tile:
    title = "Fine on average, and stalled"
    hidden, completed = len(audit.hidden), audit.counts["completed"]
    if not completed:
        return Tile(title, ["-"], ["no request completed"])
    notes = [f"{format_share(hidden / completed)} of {format_count(completed)} completed"]
    if audit.possible:
        notes.append(f"{format_count(len(audit.possible))} more possible")
    if audit.hidden:
        worst = audit.hidden[0]
        notes.append(f"longest {_longest(audit, worst, worst['worst_gap_low_ns'])}")
    return Tile(title, [format_count(hidden)], notes)


def _ratio(audit: Audit) -> Tile:
    row = audit.ratios[0]
    ratio = "-" if row["ratio"] is None else f"{row['ratio']:.1f} times"
    return Tile(
        "Largest worst gap against its average",
        [ratio],
        [_longest(audit, row, row["worst_gap_ns"])],
    )


def _longest(audit: Audit, row: Row, gap_ns: int) -> str:
    return f"{format_duration(gap_ns)}, request {request_name(audit, row)}, {position(row)}"
