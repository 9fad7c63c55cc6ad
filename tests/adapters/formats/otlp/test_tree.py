from tokengap.adapters.formats.otlp.shelf import Piece
from tokengap.adapters.formats.otlp.tree import by_ancestor


def piece(name: str, parent: str | None) -> Piece:
    return Piece("g", "t", name, parent, name, 1, 2, False, 0, 1, {}, [])


def below(*pieces: Piece) -> tuple[dict[str, list[str]], list[str]]:
    """Names under each span whose name begins with T, and under none."""
    found, orphans = by_ancestor(pieces, lambda piece: piece.name.startswith("T"))
    names = {top: [each.name for each in under] for top, under in found.items()}
    return names, [each.name for each in orphans]


def test_a_span_lies_under_the_nearest_top_span() -> None:
    found = below(
        piece("c", "b"), piece("b", "T2"), piece("T2", "a"), piece("a", "T1"), piece("T1", None)
    )
    assert found == ({"T2": ["c", "b"], "T1": ["a"]}, [])


def test_a_missing_parent_leaves_all_below_it_under_none() -> None:
    found = below(piece("T1", "gone"), piece("a", "missing"), piece("b", "a"), piece("c", None))
    assert found == ({}, ["a", "b", "c"])


def test_spans_above_themselves_lie_under_none() -> None:
    assert below(piece("a", "b"), piece("b", "a"), piece("c", "c")) == ({}, ["a", "b", "c"])
