"""The worst requests from start to end: a row for each request, a bar for each piece of it."""

from collections.abc import Sequence
from typing import Final

from tokengap.findings.audit import Row
from tokengap.report import bars
from tokengap.report.layers import Spec, over, specification
from tokengap.report.theme import BASES, MS

ROWS: Final = 12
"""Requests that are shown until one is picked."""
_SHOWN: Final = (
    f"picked === 0 ? datum.rank > 0 && datum.rank <= {ROWS}"
    " : picked > 0 ? datum.rank === picked : datum.rank === 0"
)
_NOT_KEPT: Final[Row] = {
    "rank": 0,
    "name": "No timeline is kept for this point.",
    "facts": "The note below says which are.",
    "kind": "steady",
    "solid": 0,
}
_TOOLTIP: Final = {"request": "request", "what": "what", "took": "took", "begins": "begins at"}
_QUIET: Final = ("steady", "ttft")


def timelines(heads: Sequence[Row], pieces: Sequence[Row], since: str) -> Spec:
    """Each request as a row of bars, the longest gap first.

    heads: a row per request: rank, kind (a key of `PIECES`) and basis (of `BASES`) of its longest
    gap, and in words name and facts. pieces: rank, kind, basis, start_ns, end_ns, and in words
    request, what, took, begins.
    since: what the time counts from. The parameter `picked` is the rank of the one request that is
    shown; 0 for the worst ones, below for a point of which no timeline is kept. `step` is the
    height of a row.
    """
    on_top = sorted(pieces, key=lambda row: row["kind"] not in _QUIET)
    drawn = over([_drawn(row) for row in on_top]).transform_filter(_SHOWN)
    named = over([_NOT_KEPT, *map(_head, heads)]).transform_filter(_SHOWN)
    layers = [bars.pieces(drawn, since, _TOOLTIP), *bars.heads(named)]
    height = bars.STEP * min(ROWS, len(heads))
    spec = specification(layers, height, f"Where the time of {len(heads)} requests went.")
    return spec | {"params": [{"name": "picked", "value": 0}, {"name": "step", "value": bars.STEP}]}


def _head(row: Row) -> Row:
    return {key: row[key] for key in ("rank", "name", "facts", "kind")} | {
        "solid": BASES[row["basis"]]
    }


def _drawn(row: Row) -> Row:
    at = {"start": row["start_ns"] / MS, "end": row["end_ns"] / MS, "solid": BASES[row["basis"]]}
    return at | {key: row[key] for key in ("rank", "kind", *_TOOLTIP)}
