"""The size of a KV cache, `tokengap.handoff.kv/1`."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tokengap.handoff import Cache
from tokengap.report.document import Document
from tokengap.report.numbers import both, columns, number
from tokengap.units import format_count

SCHEMA: Final = "tokengap.handoff.kv/1"
VALUES_ONLY: Final = (
    "Values only: no scales of a quantised cache. A full window adds no more per token."
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


def cache_size(size: CacheSize) -> Document:
    """The size as text and JSON."""
    record = {
        "schema": SCHEMA,
        "prompt_tokens": size.prompt_tokens,
        "block_tokens": size.block_tokens,
        "tp": size.tp,
        "source": size.source,
        **{name: number(value) for name, value in size.sizes.items()},
    }
    return Document(record, _text(size))


def _text(size: CacheSize) -> str:
    return columns(size_rows(size)) + f"{VALUES_ONLY}\n"


def size_rows(size: CacheSize) -> list[tuple[str, ...]]:
    """One row per answer, rounded for reading and exact."""
    sizes = size.sizes
    prompt = f"prompt of {format_count(size.prompt_tokens)} tokens"
    rows: list[tuple[str, ...]] = [("per token", both(sizes["bytes_per_token"]))]
    if sizes["fixed_bytes"]:
        rows.append(("fixed state", both(sizes["fixed_bytes"])))
    rows.append((prompt, both(sizes["prompt_bytes"])))
    if size.tp > 1:
        rows.append((f"on each of {size.tp} ranks", both(sizes["rank_bytes"])))
    if size.source is not None:
        rows.append(("source", size.source))
    return rows
