"""How exact numbers are shown: sizes, JSON numbers, columns of text."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from tokengap.units import format_bytes, format_count

_DIGITS: Final = 12


def both(size_bytes: Fraction) -> str:
    """A size in a unit that suits, and in whole bytes, rounded down."""
    return f"{format_bytes(int(size_bytes))} ({format_count(int(size_bytes))} B)"


def number(value: Fraction | int | None) -> Any:
    """A JSON number: whole where the value is."""
    if value is None:
        return None
    return int(value) if Fraction(value).denominator == 1 else float(value)


def rounded(value: Any) -> Any:
    """JSON values with twelve digits: the order in which sums are added up shows in later ones."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as text, each column as wide as its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)
