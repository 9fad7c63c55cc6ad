"""Spans of one trace, and under which of them the others lie."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from tokengap.adapters.formats.otlp.shelf import Piece


def by_ancestor(
    pieces: Sequence[Piece], is_top: Callable[[Piece], bool]
) -> tuple[dict[str, list[Piece]], list[Piece]]:
    """Pieces below each top span, by its id, and those that lie under none that is there.

    A piece belongs to the nearest top span above it; top spans belong to none. A span that was
    dropped or never exported leaves all below it under none.
    """
    above = {piece.span_id: piece.parent_id for piece in pieces}
    tops: dict[str | None, str | None] = {p.span_id: p.span_id for p in pieces if is_top(p)}
    tops[None] = None

    def top_from(span_id: str | None) -> str | None:
        path = []
        while span_id not in tops:
            path.append(span_id)
            tops[span_id] = None  # so that a span above itself ends the walk
            span_id = above.get(span_id or "")
        top = tops[span_id]
        tops.update(dict.fromkeys(path, top))
        return top

    found: dict[str, list[Piece]] = defaultdict(list)
    orphans: list[Piece] = []
    for piece in pieces:
        if tops.get(piece.span_id) != piece.span_id:
            top = top_from(piece.parent_id)
            (orphans if top is None else found[top]).append(piece)
    return found, orphans
