"""The size of a KV cache as text and as JSON: `tokengap.handoff.kv/1`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tokengap import __version__
from tokengap.handoff import Cache
from tokengap.units import format_bytes, format_count

SCHEMA: Final = "tokengap.handoff.kv/1"
_VALUES_ONLY: Final = (
    "Values only: no scales of a quantised cache. A full window adds no more per token.\n"
)


@dataclass(frozen=True)
class CacheSize:
    """What was asked of a cache."""

    cache: Cache
    prompt_tokens: int
    block_tokens: int
    tp: int
    source: str | None = None
    """Where the model's numbers are from."""

    @property
    def sizes(self) -> dict[str, Fraction]:
        """Every answer in bytes, by its name in JSON."""
        whole = self.cache.prompt_bytes(self.prompt_tokens, block_tokens=self.block_tokens)
        rank = self.cache.prompt_bytes(
            self.prompt_tokens, block_tokens=self.block_tokens, tp=self.tp
        )
        return {
            "bytes_per_token": self.cache.bytes_per_token,
            "fixed_bytes": self.cache.fixed_bytes,
            "prompt_bytes": whole,
            "rank_bytes": rank,
        }


def cache_json(size: CacheSize) -> str:
    """Strict JSON; a size that is no whole number of bytes has its fraction."""
    record = {
        "schema": SCHEMA,
        "tokengap": __version__,
        "prompt_tokens": size.prompt_tokens,
        "block_tokens": size.block_tokens,
        "tp": size.tp,
        "source": size.source,
        **{name: number(value) for name, value in size.sizes.items()},
    }
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def cache_text(size: CacheSize) -> str:
    """One line per answer, rounded for reading and exact."""
    sizes = size.sizes
    prompt = f"prompt of {format_count(size.prompt_tokens)} tokens"
    rows = [("per token", both(sizes["bytes_per_token"]))]
    if sizes["fixed_bytes"]:
        rows.append(("fixed state", both(sizes["fixed_bytes"])))
    rows.append((prompt, both(sizes["prompt_bytes"])))
    if size.tp > 1:
        rows.append((f"on each of {size.tp} ranks", both(sizes["rank_bytes"])))
    if size.source is not None:
        rows.append(("source", size.source))
    return columns(rows) + _VALUES_ONLY


def both(size_bytes: Fraction) -> str:
    """A size in a unit that suits, and in whole bytes, rounded down."""
    return f"{format_bytes(int(size_bytes))} ({format_count(int(size_bytes))} B)"


def number(value: Fraction | int | None) -> Any:
    """A JSON number: whole where the value is."""
    if value is None:
        return None
    return int(value) if Fraction(value).denominator == 1 else float(value)


def columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as text, each column as wide as its widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)
