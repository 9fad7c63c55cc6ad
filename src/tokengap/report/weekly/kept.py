"""How each promise was kept, in counts and intervals."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.report.section import Section, Table
from tokengap.report.weekly.promised import Promised, promised
from tokengap.report.weekly.words import day_name, kept_share, span_share
from tokengap.slo.meaning import percent
from tokengap.units import format_count
from tokengap.weekly.model import Kept, Weekly

_BY_HOURS: Final = "by hours"
COLUMNS: Final = (
    "service", "promise", "requests", "met", "missed", "unknown", "kept", "95 % interval",
    _BY_HOURS, "promised",
)  # fmt: skip
WORDS: Final = ("service", "promise")
_FEW: Final = 100
_MUCH_WIDER: Final = 1.5


def kept(weekly: Weekly, scope: str) -> Section:
    """The counts behind the shares."""
    told = promised(weekly)
    offered = format_count(sum(of.offered for of in weekly.services))
    return Section(
        "kept",
        "How each promise was kept",
        f"n {offered} offered requests, per request",
        scope,
        table=_table(told),
        notes=list(_notes(told)),
    )


def _table(told: Sequence[Promised]) -> Table:
    """The interval by hours only if it tells something of one promise."""
    rows = [_row(each) for each in told]
    if any(is_wider(each.promise.kept) for each in told):
        return Table(COLUMNS, rows, WORDS, tight=True)
    at = COLUMNS.index(_BY_HOURS)
    fewer = [[*row[:at], *row[at + 1 :]] for row in rows]
    return Table((*COLUMNS[:at], *COLUMNS[at + 1 :]), fewer, WORDS, tight=True)


def _row(each: Promised) -> list[str]:
    found, target = each.promise.kept, each.promise.goal.target
    counts = (found.applies, found.met, found.missed, found.unknown)
    blocks = span_share(found.block_low, found.block_high, target) if is_wider(found) else ""
    return [
        each.service,
        each.name,
        *map(format_count, counts),
        kept_share(found, target),
        span_share(found.low, found.high, target),
        blocks,
        percent(target),
    ]


def is_wider(found: Kept) -> bool:
    """Whole hours vary so much that the interval of single requests says too much."""
    if found.low is None or found.high is None:
        return False
    if found.block_low is None or found.block_high is None:
        return False
    return found.block_high - found.block_low > _MUCH_WIDER * (found.high - found.low)


def _notes(told: Sequence[Promised]) -> Iterator[str]:
    yield (
        "Kept is met / (met + missed + unknown): an unknown request is not kept. The interval "
        "takes requests for independent."
    )
    if any(is_wider(each.promise.kept) for each in told):
        yield (
            "By hours: the interval from whole hours, given where it is much wider, for stalls "
            "that share instants count as few."
        )
    for each in told:
        if each.promise.changed_on:
            since = day_name(each.promise.changed_on)
            yield f"{each.short}: in force since {since}; days before by the version of then."
        if 0 < each.promise.kept.applies < _FEW:
            yield f"{each.short}: fewer than {_FEW} requests, so the share says little."
