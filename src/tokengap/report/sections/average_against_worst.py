"""Average against worst gap: one mark per request, in the quadrants that the limits make."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tokengap.findings.audit import Row, rows
from tokengap.report.charts import Corner, stall_map
from tokengap.report.section import Key, Section, Subject
from tokengap.report.theme import PLACES
from tokengap.report.words import NAMES, TRY_LIMITS, why_nothing
from tokengap.units import format_count

_VERDICTS: Final = {"tpot": "average", "worst_gap": "worst"}
"""Limits that make quadrants, and the column of their verdict."""
_QUADRANTS: Final = {
    "top left": ("hidden", ("meets average,", "misses worst gap")),
    "top right": ("both", ("misses both",)),
    "bottom left": ("meets", ("meets both",)),
    "bottom right": ("average", ("misses average,", "meets worst gap")),
}
_HALVES: Final = {
    "tpot": {
        "top left": ("meets", ("meets average TPOT",)),
        "top right": ("average", ("misses average TPOT",)),
    },
    "worst_gap": {
        "top left": ("both", ("misses worst gap",)),
        "bottom left": ("meets", ("meets worst gap",)),
    },
}
_UNSURE: Final = {
    "possible": "possible hidden stall: the log does not decide one of the two verdicts",
    "undecided": "verdict not decided by the log",
}


def average_against_worst(subject: Subject) -> Section:
    """One mark per request, in the quadrants that the limits make."""
    limits = {name: ns for name, ns in subject.limits_ns.items() if name in _VERDICTS}
    found = rows(subject.con, f"FROM stall_map({subject.asked})")
    marks = _placed(_with_timelines(subject, found), limits)
    counts = _counts(rows(subject.con, f"FROM stall_quadrants({subject.asked})"), limits)
    unplaced = rows(subject.con, "FROM unplaced_requests")
    drawn = format_count(sum(row["requests"] for row in marks))
    return Section(
        "average_against_worst",
        "Average against worst gap",
        f"n {drawn} completed requests, per request",
        subject.scope,
        legend=[
            Key(PLACES[key], says, format_count(counts[key]))
            for key, says in _UNSURE.items()
            if counts.get(key)
        ],
        chart=stall_map(marks, limits, _corners(limits, counts)) if marks else None,
        data=marks,
        notes=list(_map_notes(subject, marks, unplaced)),
    )


def _with_timelines(subject: Subject, marks: Sequence[Row]) -> Iterator[Row]:
    """Marks with the rank of their request's timeline; another negative each where none is kept."""
    ranks = {_request(row): row["rank"] for row in subject.timelines}
    for number, row in enumerate(marks, 1):
        yield row | {"timeline": ranks.get(_request(row), -number)}


def _request(row: Row) -> tuple[str, str, int]:
    return row["trace"], row["request_id"], row["attempt"]


def _placed(found: Iterable[Row], limits: Mapping[str, int]) -> list[Row]:
    return [row | {"place": _place(row, limits) or "undecided"} for row in found]


def _place(row: Row, limits: Mapping[str, int]) -> str | None:
    """A key of `PLACES`; None for a request that the limits do not apply to."""
    verdicts = {name: row[_VERDICTS[name]] for name in limits}
    missed = [name for name, verdict in verdicts.items() if verdict == "missed"]
    if not verdicts:
        return "unjudged"
    if row["stall"]:
        return str(row["stall"])
    if "unknown" in verdicts.values():
        return "undecided"
    if None in verdicts.values():
        return None
    if missed == ["tpot"]:
        return "average"
    return "both" if missed else "meets"


def _counts(quadrants: Sequence[Row], limits: Mapping[str, int]) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for row in quadrants:
        place = _place(row, limits)
        counts[place] = counts.get(place, 0) + row["requests"]
    return counts


def _corners(limits: Mapping[str, int], counts: Mapping[str | None, int]) -> dict[str, Corner]:
    if not limits:
        return {}
    places = _QUADRANTS if len(limits) > 1 else _HALVES[next(iter(limits))]
    return {
        where: (place, [*lines[:-1], f"{lines[-1]}: {format_count(counts.get(place, 0))}"])
        for where, (place, lines) in places.items()
    }


def _map_notes(subject: Subject, marks: list[Row], unplaced: list[Row]) -> Iterator[str]:
    if not marks:
        yield why_nothing(subject.audit, unplaced)
        return
    yield "Pick a point to see its request from start to end, below."
    missing = [name for name in _VERDICTS if name not in subject.limits_ns]
    if missing:
        names = " and ".join(NAMES[name] for name in missing)
        yield f"No limit on {names}, so there are no quadrants; try {TRY_LIMITS}."
    requests = sum(row["requests"] for row in marks)
    if requests > len(marks):
        yield (
            f"{format_count(len(marks))} marks stand for {format_count(requests)} requests: "
            "requests close together share one, and its area grows with their number. Each mark "
            "is drawn at the exact values of its request with the longest gap."
        )
    elif spans := sum((row["tpot_low_ns"] or 0) < row["tpot_high_ns"] for row in marks):
        yield (
            f"Average left open by the log: {format_count(spans)} of {format_count(requests)} "
            "requests, drawn at the most it can be with a line to the least."
        )
    if unplaced:
        yield why_nothing(subject.audit, unplaced)
