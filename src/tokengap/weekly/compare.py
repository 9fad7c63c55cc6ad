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

LEAST_REQUESTS: Final = 100
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


def compare(cells: Cells, target: Decimal, comparisons: int = 1) -> Change:
    """The change of one promise; comparisons: how many intervals shall hold together."""
    before, now = (float(cells.applies[side].sum()) for side in (~cells.now, cells.now))
    if min(before, now) < LEAST_REQUESTS:
        says = f"{int(min(before, now))} requests in one of the weeks, {LEAST_REQUESTS} are needed"
        return Change(CANNOT_TELL, says, requests_before=int(before), requests=int(now))
    found = _compared(cells, target, comparisons)
    return replace(found, requests_before=int(before), requests=int(now))


def _compared(cells: Cells, target: Decimal, comparisons: int) -> Change:
    raw = _raw(cells, cells.met, cells.applies)
    confidence = 1 - (1 - CONFIDENCE) / comparisons
    kept = _interval(_kept(cells), confidence)
    if kept is None or kept.share < LEAST_SHARED:
        says = "lengths of requests have too little in common, or hours with data are too few"
        return Change(CANNOT_TELL, says, raw=raw)
    value = _value(cells, confidence)
    verdict, says = _verdict(kept, value, (1 - float(target)) * BUDGET_SHARE)
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
    return CANNOT_TELL, "no more than chance, or too small to matter, at equal mix"


def _kept(cells: Cells) -> Matched | None:
    """Of the share that keeps the promise.

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
        share=finished.share,
    )


def _value(cells: Cells, confidence: float) -> ValueChange | None:
    known = cells.where(cells.valued > 0)
    sides = [known.valued[side].sum() for side in (~known.now, known.now)]
    if min(sides) < LEAST_REQUESTS:
        return None
    ratio = float(np.exp(_raw(known, known.log_sum, known.valued)))
    found = _interval(_matched(known, known.valued, known.log_sum, cells), confidence)
    if found is None or found.share < LEAST_SHARED:
        return ValueChange(ratio, None, None, None)
    return ValueChange(
        ratio, *(float(np.exp(x)) for x in (found.difference, found.low, found.high))
    )


def _matched(
    cells: Cells, count: Numbers, total: Numbers, whole: Cells, *, by_answer: bool = True
) -> Matched | None:
    """By prompts, and by answers too where the requests finished."""
    answer = np.where(cells.finished & by_answer, cells.output, 0)
    key = (cells.prompt + _BINS // 2) * _BINS + answer + _BINS // 2
    first = int(whole.block.min())
    blocks = int(whole.block.max()) - first + 1
    return matched(cells.now, cells.block - first, numbered(key), count, total, blocks)


def _interval(found: Matched | None, confidence: float) -> Interval | None:
    """By short blocks, unless long ones spread far more: hours then hang together."""
    if found is None:
        return None
    long = np.add.reduceat(found.pushes, np.arange(0, len(found.pushes), LONG_BLOCKS))
    half, by_long = (_half(pushes, confidence) for pushes in (found.pushes, long))
    if half is None:
        return None
    if by_long is not None and by_long > half * MUCH_WIDER:
        half = by_long
    value = found.difference
    return Interval(value, value - half, value + half, found.share)


def _half(pushes: Numbers, confidence: float) -> float | None:
    """Half of the interval's width; None for too few blocks."""
    blocks = int(np.count_nonzero(pushes))
    squares = float((pushes**2).sum())
    if not blocks:
        return 0.0  # all alike in both periods
    if blocks < LEAST_BLOCKS:
        return None
    return t_quantile(blocks - 1, confidence) * float(np.sqrt(squares * blocks / (blocks - 1)))


def _raw(cells: Cells, total: Numbers, count: Numbers) -> float:
    before, now = (_mean(total[side], count[side]) for side in (~cells.now, cells.now))
    return now - before


def _mean(total: Numbers, count: Numbers) -> float:
    return float(total.sum() / count.sum()) if count.sum() else 0.0
