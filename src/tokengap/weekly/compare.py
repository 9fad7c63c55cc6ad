"""Whether a promise is kept better or worse than before, at equal mix, beyond chance.

Two things are compared: the share of requests that keep the promise, and the statistic itself,
whose typical value tells a slowdown long before many more requests are over the limit. Each has an
interval, and all intervals of a report hold together (Bonferroni), so that many promises raise no
more false alarms than one. A change too small to matter is none.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

import numpy as np

from tokengap.intervals import CONFIDENCE, t_quantile
from tokengap.units import format_points, format_share
from tokengap.weekly.cells import Cells, Numbers
from tokengap.weekly.matched import Matched, matched, numbered
from tokengap.weekly.model import BETTER, CANNOT_TELL, WORSE, Change, ValueChange

LEAST_REQUESTS: Final = 50
"""In either period: with fewer, blocks of time are too few to tell chance by."""
LEAST_SHARED: Final = 0.5
"""Of the finished requests, in strata that both periods have."""
BUDGET_SHARE: Final = 0.1
"""Of the misses that a target allows: a smaller change of attainment does not matter."""
VALUE_SHARE: Final = 0.05
"""Of the typical value: a smaller change does not matter."""
LONG_BLOCKS: Final = 6
"""Hours of the longer blocks: an incident that goes on for hours is one event, not many."""
MUCH_WIDER: Final = 1.25
"""More than long blocks are wider by chance, 28 of them beside 168, in 19 of 20 weeks."""
LEAST_BLOCKS: Final = 6
_BINS: Final = 256


@dataclass(frozen=True)
class Interval:
    """A difference at equal mix, with the interval that holds it."""

    difference: float
    low: float
    high: float
    share: float


def tests_of(cells: Cells) -> int:
    """How many comparisons a promise takes: of the share kept, and of the values if it has any."""
    return 2 if cells.valued.any() else 1


@dataclass(frozen=True)
class Spread:
    """How far runs of the same differ beyond what their requests do, as variances.

    kept: of the share. value: of the logarithm of the statistic. freedom: of both estimates.
    """

    kept: float = 0.0
    value: float = 0.0
    freedom: int = 1


NO_SPREAD: Final = Spread()


def least_change(target: Decimal) -> float:
    """The smallest change of attainment that matters to a promise of that target."""
    return float(1 - target) * BUDGET_SHARE


def compare(cells: Cells, least: float, comparisons: int = 1, spread: Spread = NO_SPREAD) -> Change:
    """The change of one promise.

    least: the smallest change of attainment that matters. comparisons: how many intervals shall
    hold together. spread: what two periods differ by anyway.
    """
    before, now = (float(cells.applies[side].sum()) for side in (~cells.now, cells.now))
    if min(before, now) < LEAST_REQUESTS:
        says = f"{int(min(before, now))} requests in one of the weeks, {LEAST_REQUESTS} are needed"
        return Change(CANNOT_TELL, says, requests_before=int(before), requests=int(now))
    found = _compared(cells, least, comparisons, spread)
    return replace(found, requests_before=int(before), requests=int(now))


def _compared(cells: Cells, least: float, comparisons: int, spread: Spread) -> Change:
    raw = _raw(cells, cells.met, cells.applies)
    confidence = 1 - (1 - CONFIDENCE) / comparisons
    kept = _interval(kept_difference(cells), confidence, spread.kept, spread.freedom)
    if kept is None or kept.share < LEAST_SHARED:
        says = "lengths of requests have too little in common, or hours with data are too few"
        return Change(CANNOT_TELL, says, raw=raw)
    value = _value(cells, confidence, spread)
    verdict, says = _verdict(kept, value, least)
    if verdict == CANNOT_TELL and not kept.low <= raw <= kept.high:
        says = f"the mix of lengths moved it by {format_points(raw - kept.difference)}; {says}"
    return Change(
        verdict,
        says,
        raw=raw,
        matched=kept.difference,
        low=kept.low,
        high=kept.high,
        matched_share=kept.share,
        value=value,
    )


def _verdict(kept: Interval, value: ValueChange | None, least: float) -> tuple[str, str]:
    """The verdict, and why: the share kept goes before the values."""
    if kept.low > 0 and kept.difference >= least:
        return BETTER, f"kept by {format_points(kept.difference)} more at equal mix"
    if kept.high < 0 and -kept.difference >= least:
        return WORSE, f"kept by {format_points(-kept.difference)} less at equal mix"
    if value is not None and value.low is not None and value.high is not None:
        if value.low > 1 and (value.matched or 1) >= 1 + VALUE_SHARE:
            return WORSE, f"values {format_share((value.matched or 1) - 1)} longer at equal mix"
        if value.high < 1 and (value.matched or 1) <= 1 / (1 + VALUE_SHARE):
            return BETTER, f"values {format_share(1 - (value.matched or 1))} shorter at equal mix"
    return CANNOT_TELL, "at equal mix no more than chance, or too little to matter"


def kept_difference(cells: Cells) -> Matched | None:
    """Of the share that keeps the promise; None where lengths have nothing in common.

    A request that did not finish has no length of its own to be matched by, but its prompt's. So
    finished and unfinished ones are compared apart, and the share of finished ones besides:
    A = f F + (1 - f) U changes by f dF + (1 - f) dU + (F - U) df, at the means of both periods.
    """
    done, undone = cells.where(cells.finished), cells.where(~cells.finished)
    finished = _matched(done, done.applies, done.met, cells)
    unfinished = _matched(undone, undone.applies, undone.met, cells)
    ending = _matched(cells, cells.applies, cells.applies * cells.finished, cells, by_answer=False)
    if finished is None or ending is None:
        return None
    share = _mean(cells.applies * cells.finished, cells.applies)
    apart = _mean(done.met, done.applies) - _mean(undone.met, undone.applies)
    parts = [(share, finished), (apart, ending)]
    if unfinished is not None:
        parts.append((1 - share, unfinished))
    return Matched(
        difference=sum(weight * part.difference for weight, part in parts),
        pushes=np.sum([weight * part.pushes for weight, part in parts], axis=0),
        beyond=np.sum([weight * part.beyond for weight, part in parts], axis=0),
        share=finished.share,
    )


def value_difference(cells: Cells) -> Matched | None:
    """Of the mean logarithm of the statistic; None where lengths have nothing in common."""
    known = cells.where(cells.valued > 0)
    return _matched(known, known.valued, known.log_sum, cells)


def _value(cells: Cells, confidence: float, spread: Spread) -> ValueChange | None:
    sides = [cells.valued[side].sum() for side in (~cells.now, cells.now)]
    if min(sides) < LEAST_REQUESTS:
        return None
    ratio = float(np.exp(_raw(cells, cells.log_sum, cells.valued)))
    found = _interval(value_difference(cells), confidence, spread.value, spread.freedom)
    if found is None or found.share < LEAST_SHARED:
        return ValueChange(ratio, None, None, None)
    return ValueChange(
        ratio, *(float(np.exp(x)) for x in (found.difference, found.low, found.high))
    )


def _matched(
    cells: Cells, count: Numbers, total: Numbers, whole: Cells, *, by_answer: bool = True
) -> Matched | None:
    """By prompts, and by answers too where the requests finished; None without any."""
    if not len(whole.block):
        return None
    answer = np.where(cells.finished & by_answer, cells.output, 0)
    key = (cells.prompt + _BINS // 2) * _BINS + answer + _BINS // 2
    first = int(whole.block.min())
    blocks = int(whole.block.max()) - first + 1
    return matched(cells.now, cells.block - first, numbered(key), count, total, blocks)


def _interval(
    found: Matched | None, confidence: float, spread: float, freedom: int
) -> Interval | None:
    """By short blocks, unless long ones spread far more: hours then hang together."""
    if found is None:
        return None
    half = _half(found.pushes, found.beyond, confidence, spread, freedom)
    by_long = _half(_long(found.pushes), _long(found.beyond), confidence, spread, freedom)
    if half is None:
        return None
    if by_long is not None and by_long > half * MUCH_WIDER:
        half = by_long
    value = found.difference
    return Interval(value, value - half, value + half, found.share)


def _long(by_block: Numbers) -> Numbers:
    return np.add.reduceat(by_block, np.arange(0, len(by_block), LONG_BLOCKS))


def _half(
    pushes: Numbers, beyond: Numbers, confidence: float, spread: float, freedom: int
) -> float | None:
    """Half of the interval's width; None for too few blocks.

    The degrees of freedom of blocks and spread together are by Satterthwaite (1946).
    """
    blocks = int(np.count_nonzero(pushes))
    if 0 < blocks < LEAST_BLOCKS:
        return None
    within = float((beyond**2).sum()) * blocks / max(blocks - 1, 1)
    whole = within + spread
    if not whole:
        return 0.0  # alike in all blocks
    carried = within**2 / max(blocks - 1, 1) + spread**2 / freedom
    return t_quantile(max(whole**2 / carried, 1.0), confidence) * float(np.sqrt(whole))


def _raw(cells: Cells, total: Numbers, count: Numbers) -> float:
    before, now = (_mean(total[side], count[side]) for side in (~cells.now, cells.now))
    return now - before


def _mean(total: Numbers, count: Numbers) -> float:
    return float(total.sum() / count.sum()) if count.sum() else 0.0
