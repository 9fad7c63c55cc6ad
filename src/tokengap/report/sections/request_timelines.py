"""The worst requests from start to end: TTFT, steady stretches, and each long gap by its cause."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row, rows
from tokengap.report.layers import Spec
from tokengap.report.section import Key, Section, Subject
from tokengap.report.theme import PIECES
from tokengap.report.timelines import ROWS, timelines
from tokengap.report.words import cause, position, request_name, shortened, why_nothing
from tokengap.units import format_count, format_duration

_NAMES: Final = {
    "ttft": "TTFT",
    "steady": "gaps between those",
    "longest": "longest gap of its request, over no limit",
}
_SINCE: Final = {
    "planned": "time since the request was planned",
    "sent": "time since the request was sent",
    "received": "time since the request was received",
    "arrival": "time since the request arrived",
}
_GAP_LIMITS: Final = {"worst_gap", "handoff_gap"}
_FIRST: Final = "time since the first token"


def request_timelines(subject: Subject) -> Section:
    """The worst requests, or the one that is picked in the chart of averages and worst gaps."""
    pieces = [row | {"kind": _kind(row)} for row in subject.timelines]
    worst = [row for row in pieces if _is_worst(row)]
    return Section(
        "request_timelines",
        "The worst requests from start to end",
        f"n {format_count(len(worst))} completed requests, per request",
        subject.scope,
        legend=list(_legend(pieces)),
        chart=_chart(subject, worst, pieces) if worst else None,
        data=pieces,
        notes=list(_notes(subject, worst, pieces)),
    )


def _kind(row: Row) -> str:
    """A key of `PIECES`."""
    if row["piece"] != "gap":
        return str(row["piece"])
    return row["cause"] or "longest"


def _is_worst(row: Row) -> bool:
    """Of each request, the piece that is its longest gap."""
    return bool(row["piece"] == "gap" and row["first_gap"] == row["worst_gap_index"])


def _chart(subject: Subject, worst: Sequence[Row], pieces: Sequence[Row]) -> Spec:
    names = {row["rank"]: shortened(request_name(subject.audit, row)) for row in worst}
    heads = [
        {
            "rank": row["rank"],
            "kind": row["kind"],
            "basis": row["basis"],
            "name": names[row["rank"]],
            "facts": f"{format_duration(row['worst_gap_ns'])} {position(row)}{_why(subject, row)}",
        }
        for row in worst
    ]
    drawn = [
        {
            "rank": row["rank"],
            "kind": row["kind"],
            "basis": row["basis"],
            "start_ns": row["start_ns"],
            "end_ns": row["end_ns"],
            "request": names[row["rank"]],
            "what": _what(subject, row),
            "took": format_duration(row["end_ns"] - row["start_ns"]),
            "begins": format_duration(row["start_ns"]),
        }
        for row in pieces
    ]
    return timelines(heads, drawn, " or ".join(_origins(worst)))


def _origins(worst: Sequence[Row]) -> list[str]:
    return sorted({_SINCE.get(row["origin"], _FIRST) for row in worst})


def _why(subject: Subject, row: Row) -> str:
    """What there is to say of a gap that stands alone, after a colon."""
    if row["cause"]:
        return f": {cause(subject.audit, row)}"
    return ": over no limit" if subject.limits_ns.keys() & _GAP_LIMITS else ""


def _what(subject: Subject, row: Row) -> str:
    """A piece in words."""
    if row["piece"] == "ttft":
        return "TTFT"
    if row["piece"] == "gap":
        return f"gap after delivery {row['first_gap']}{_why(subject, row)}"
    over = f", {format_count(row['over_limit'])} over their limit" if row["over_limit"] else ""
    longest = format_duration(row["longest_ns"])
    if row["gaps"] == 1:
        return f"1 gap{over}"
    return f"{format_count(row['gaps'])} gaps, the longest {longest}{over}"


def _legend(pieces: Sequence[Row]) -> Iterator[Key]:
    """What the colours mean, with the number of gaps (requests, for TTFT)."""
    counts: Counter[str] = Counter()
    for row in pieces:
        counts[row["kind"]] += max(row["gaps"], 1)
    for kind, place in PIECES.items():
        if counts[kind]:
            yield Key(place, _NAMES.get(kind, kind.replace("_", " ")), format_count(counts[kind]))


def _notes(subject: Subject, worst: Sequence[Row], pieces: Sequence[Row]) -> Iterator[str]:
    if not worst:
        yield why_nothing(subject.audit, rows(subject.con, "FROM unplaced_requests"))
        return
    yield (
        f"The {min(ROWS, len(worst))} with the longest gap; pick a point of the chart above to see "
        f"its request alone. Timelines are kept of {format_count(len(worst))} requests: those with "
        "the longest gaps, and of points that stand for several requests the one with the longest, "
        "if the log tells every gap."
    )
    if subject.limits_ns.keys() & _GAP_LIMITS:
        yield (
            "Gaps over their limit stand alone, coloured by cause: solid where it is measured, "
            "lighter where it rests on an option, nearly hollow where it is inferred."
        )
    if merged := sum(row["over_limit"] for row in pieces if row["piece"] == "steady"):
        yield (
            f"{format_count(merged)} further gaps over their limit lie between those: of each "
            "request, the 16 longest stand alone."
        )
