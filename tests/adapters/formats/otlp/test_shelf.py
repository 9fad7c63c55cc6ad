import pytest

from tokengap.adapters.formats.otlp.shelf import Piece, Shelf, without_repeats


def piece(group: int, number: int) -> Piece:
    return Piece(
        f"g{group}", "t", str(number), None, "n", number, 2**60, False, 0, 1,
        {"a": [1], "b": None, "c": {"d": "e"}}, [("m", number)],
    )  # fmt: skip


@pytest.mark.parametrize("held", [1, 7, 1000])
def test_groups_come_back_whole_and_in_order(held: int) -> None:
    # 600 groups of three pieces share 256 compartments; 1,000 held ones are never written out.
    put = [piece(group, number) for number in range(3) for group in range(600)]
    with Shelf(held) as shelf:
        for each in put[: 600 if held == 1000 else None]:
            shelf.add(each)
        groups = {group[0].group: group for group in shelf.groups()}
    assert len(groups) == 600
    expected = range(1) if held == 1000 else range(3)
    assert groups["g17"] == [piece(17, number) for number in expected]


def test_a_span_that_was_exported_twice_counts_once() -> None:
    first, other = piece(0, 1), piece(0, 2)
    assert without_repeats([first, other, piece(0, 1)]) == ([first, other], {"1"})
    assert without_repeats([first]) == ([first], set())
