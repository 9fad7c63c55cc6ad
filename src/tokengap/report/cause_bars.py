"""Time lost by cause, and what it is made of: a row for each cause and basis."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row
from tokengap.report import bars
from tokengap.report.layers import Spec, over, specification
from tokengap.report.theme import BASES, MS, PIECES
from tokengap.units import format_duration, format_share

_TOOLTIP: Final = {"name": "cause", "what": "of which", "took": "time lost", "share": "of its row"}


def cause_bars(causes: Sequence[Row], parts: Sequence[Row]) -> Spec:
    """Each cause as a bar as long as the time lost to it, in its parts.

    causes: rows of the query `cause_summary`, each with `name` and `facts` in words. parts: rows of
    the query `cause_parts`, of which the steady ones are not drawn: they are not lost.
    """
    heads = [
        {
            "rank": rank,
            "kind": row["cause"],
            "solid": BASES[row["basis"]],
            "name": row["name"],
            "facts": row["facts"],
        }
        for rank, row in enumerate(causes, 1)
    ]
    drawn = [
        piece
        for head, row in zip(heads, causes, strict=True)
        for piece in _stacked(head, row, [part for part in parts if _is_part(part, row)])
    ]
    return specification(
        [bars.pieces(over(drawn), "time lost", _TOOLTIP), *bars.heads(over(heads))],
        bars.STEP * len(heads),
        "Time lost in gaps over their limit, by cause and part.",
    )


def _is_part(part: Row, cause: Row) -> bool:
    same = (part["cause"], part["basis"]) == (cause["cause"], cause["basis"])
    return same and part["part"] != "steady"


def _stacked(head: Row, cause: Row, parts: Sequence[Row]) -> Iterator[Row]:
    """One after the other, the cause itself first, which alone is as sure as the claim."""
    kinds = [*PIECES]
    start_ns = 0
    for part in sorted(parts, key=lambda p: (p["part"] != cause["cause"], kinds.index(p["part"]))):
        end_ns = start_ns + part["total_ns"]
        yield {
            "rank": head["rank"],
            "name": head["name"],
            "kind": part["part"],
            "solid": BASES[cause["basis"] if part["part"] == cause["cause"] else None],
            "start": start_ns / MS,
            "end": end_ns / MS,
            "what": part["part"].replace("_", " "),
            "took": format_duration(part["total_ns"]),
            "share": format_share(part["total_ns"] / max(1, cause["excess_ns"])),
        }
        start_ns = end_ns
