"""Whether two weeks measured the same thing: numbers of two boundaries are never compared.

What a system does is its own affair: a handoff that was not there before is a change like any
other. What is measured is not: where the clock stood, from when it ran, how finely it saw, and
whether the handoff lies in a gap or is a part of TTFT.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

MOVED_SHARE: Final = 0.05
"""Of the requests: fewer that are measured otherwise than before move no number by much."""
_SPANS: Final = ("ttft", "e2e", "good")
_GAPS: Final = ("tpot", "gap_p50", "gap_p90", "gap_p99", "worst_gap", "handoff_gap", "good")
_SEEN: Final = {
    "delivery": "deliveries", "step": "engine steps", "aggregate": "no times that are logged",
}  # fmt: skip
_PLACES: Final = {"gap": "in a gap", "inside_ttft": "inside TTFT"}

Places = Iterable[Mapping[str, Any]]
"""Rows of `promised_places`."""


def why_not(statistic: str, before: Places, now: Places) -> str | None:
    """Why the weeks cannot be compared by this statistic; None if they can."""
    before, now = list(before), list(now)
    if statistic in _SPANS and (moved := _moved(before, now, "origin")):
        return f"times counted from {moved[0]} before, and from {moved[1]} now"
    if statistic in _GAPS and (moved := _moved(_seen(before), _seen(now), "granularity")):
        return f"gaps were between {_SEEN[moved[0]]} before, and are between {_SEEN[moved[1]]} now"
    if statistic == "handoff_gap" and (moved := _moved(before, now, "handoff_boundary")):
        return f"the handoff was measured by {moved[0]} before, and by {moved[1]} now"
    if moved := _moved(before, now, "handoff_place", _PLACES):
        return (
            f"the handoff lay {_PLACES[moved[0]]} before and lies {_PLACES[moved[1]]} now: the "
            "first token is emitted by the other side"
        )
    return None


def _seen(rows: Places) -> list[Mapping[str, Any]]:
    """A delivery is called a token only where a log proves it: to compare, it is a delivery."""
    deliveries = dict.fromkeys(("token", "chunk"), "delivery")
    return [
        {**row, "granularity": deliveries.get(row["granularity"], row["granularity"])}
        for row in rows
    ]


def _moved(
    before: Places, now: Places, column: str, among: Iterable[str] | None = None
) -> tuple[str, str] | None:
    """The value that lost most, and the one that won most, if enough requests went over."""
    shares = [_shares(rows, column) for rows in (before, now)]
    values = set(shares[0]) | set(shares[1]) if among is None else set(among)
    more = {str(value): shares[1][value] - shares[0][value] for value in values}
    if not more:
        return None
    loser, winner = min(more, key=lambda v: (more[v], v)), max(more, key=lambda v: (more[v], v))
    return (loser, winner) if min(-more[loser], more[winner]) > MOVED_SHARE else None


def _shares(rows: Places, column: str) -> Counter[Any]:
    counts = Counter[Any]()
    for row in rows:
        counts[row[column]] += row["offered"]
    whole = counts.total()
    return Counter({value: count / whole for value, count in counts.items()}) if whole else counts
