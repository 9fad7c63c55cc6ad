"""Statistics over judged streams: percentiles as intervals in Python, pooled gaps in Polars."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import polars as pl

from tests.queries import oracle
from tests.queries.given import Row
from tests.queries.observed import Bounds, Number, Observed
from tests.queries.oracle import percentile
from tests.queries.oracle_requests import Judged, within
from tokengap.store.connect import Window

PERCENTS: Final = (50, 90, 99)


def latency_percentiles(last: Sequence[Judged], window: Window | None) -> list[Row]:
    """Over completed last attempts whose value falls into the window."""
    completed = [j for j in last if not j.s.ended]
    found = [
        _over_requests("ttft", [j.ttft for j in completed if _first_within(j, window)]),
        _over_requests(
            "ttft_from_planned",
            [j.ttft_from_planned for j in completed if _first_within(j, window)],
        ),
    ]
    for statistic in ("tpot", "worst_gap", "handoff_gap", "e2e"):
        ended = [j for j in completed if within(window, j.s.origin_ns, j.s.last_ns)]
        found.append(_over_requests(statistic, [j.value(statistic) for j in ended]))
    return [row for row in found if row]


def _first_within(j: Judged, window: Window | None) -> bool:
    shown = j.s.first_ns if j.s.last_ns is not None else None
    return within(window, j.s.origin_ns, shown)


def _over_requests(statistic: str, values: Sequence[Bounds]) -> Row:
    known = [value for value in values if value.low is not None]
    if not values or (statistic == "ttft_from_planned" and not known):
        return {}
    lows = [value.low for value in known if value.low is not None]
    highs = [value.high for value in known]
    return {
        "statistic": statistic,
        "basis": "per_request",
        "n": len(known),
        "n_exact": sum(value.low == value.high for value in known),
        "left_out": len(values) - len(known),
        **{
            f"p{percent}_{side}_ns": value
            for percent in PERCENTS
            for side, value in (
                ("low", percentile(lows, percent) if lows else None),
                ("high", _unbounded_percentile(highs, percent) if lows else None),
            )
        },
        "max_low_ns": max(lows, default=None),
        "max_high_ns": _unbounded_percentile(highs, 100) if highs else None,
        "thin": [f"p{percent}" for percent in PERCENTS if len(known) * (100 - percent) < 1000],
    }


def _unbounded_percentile(values: Sequence[Number | None], percent: int) -> Fraction | None:
    """None stands for no limit, sorts last, and makes every percentile that touches it one."""
    ranked = sorted(value for value in values if value is not None)
    position = Fraction(percent * (len(values) - 1), 100)
    if math.ceil(position) >= len(ranked):
        return None
    filled = [*ranked, *[ranked[-1]] * (len(values) - len(ranked))]  # beyond what is touched
    return percentile(filled, percent)


def pooled_gaps(last: Iterable[Judged], window: Window | None) -> pl.DataFrame:
    """One row per gap of completed streams that belongs to the window: gap_ns, coalesced."""
    rows = [
        (gap, j.s.noted("coalesced_reads"))
        for j in last
        if not j.s.ended and not j.s.noted("smeared")
        for gap, end_ns in zip(j.s.gaps, (j.s.times or [])[1:], strict=True)
        if within(window, j.s.origin_ns, end_ns)
    ]
    return pl.DataFrame(rows, schema={"gap_ns": pl.Int64, "coalesced": pl.Boolean}, orient="row")


def gap_percentiles(gaps: pl.DataFrame) -> Row:
    kept = gaps.filter(pl.col("gap_ns") >= 0)
    lengths = kept["gap_ns"]
    return {
        "basis": "per_gap",
        "n": len(kept),
        "left_out": len(gaps) - len(kept),
        "coalesced_share": kept["coalesced"].mean(),
        **{f"p{p}_ns": lengths.quantile(p / 100, "linear") for p in PERCENTS},
        "max_ns": lengths.max(),
    }


def gap_survival(gaps: pl.DataFrame, lengths: Sequence[int]) -> list[Row]:
    """The row of each of the lengths at which steps stand."""
    kept = gaps.filter(pl.col("gap_ns") >= 0)["gap_ns"]
    found, before = [], 0
    for length in lengths:
        longer = int((kept > length).sum())
        counted = len(kept) - longer - before
        share = Fraction(longer, len(kept)) if len(kept) else None
        found.append({"gap_ns": length, "gaps": counted, "longer": longer, "longer_share": share})
        before = len(kept) - longer
    return found


def handoff_summary(streams: Iterable[Judged]) -> list[Row]:
    groups: dict[tuple[str, int | None, str | None], list[Observed]] = defaultdict(list)
    for j in streams:
        if not j.s.ended:
            groups[_place(j.handoff_gap.reason), *j.s.handoff].append(j.s)
    return [_handoff_row(*place, group) for place, group in groups.items()]


def _place(reason: str | None) -> str:
    known = {
        "no_handoff": "none", "inside_ttft": "inside_ttft", "handoff_undeclared": "unknown",
    }  # fmt: skip
    return known.get(reason or "", "gap")


def _handoff_row(place: str, k: int | None, source: str | None, group: list[Observed]) -> Row:
    gaps = [(s, oracle.handoff_gap(s)) for s in group]
    exact = [(s, found.low) for s, found in gaps if found.exact is not None]
    lengths = [length for _, length in exact if length is not None]
    others = [
        gap
        for s, _ in exact
        for number, gap in enumerate(s.gaps, 1)
        if number != oracle.handoff_index(s) and gap >= 0
    ]
    return {
        "place": place,
        "last_prefill_token": k,
        "handoff_source": source,
        "requests": len(group),
        "n": len(exact),
        "not_observable": sum(found.reason == "not_observable" for _, found in gaps),
        **{f"p{p}_ns": percentile(lengths, p) if lengths else None for p in PERCENTS},
        "max_ns": max(lengths, default=None),
        "other_gap_p50_ns": percentile(others, 50) if others else None,
        "is_worst_gap": sum(is_worst_gap(s) is True for s, _ in exact),
    }


def is_worst_gap(s: Observed) -> bool | None:
    """Whether the longest gap, the first of equal ones, is the one after token k."""
    if s.handoff[1] == "none":
        return False
    index, worst = oracle.handoff_index(s), oracle.worst_gap_index(s)
    return None if index is None or worst is None else worst == index
