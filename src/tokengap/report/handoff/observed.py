"""Handoffs that a log shows, with the bytes they moved."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from tokengap.errors import InputError
from tokengap.findings.audit import Row, rows
from tokengap.handoff import Cache
from tokengap.report.words import plain, shortened
from tokengap.store.sql import literal
from tokengap.units import format_count

NEEDED: Final = "handoff_sizes"
"""The relation of the query library that this reads, with what it needs."""


@dataclass(frozen=True)
class Observed:
    """One handoff of a completed request, of known size and time."""

    request: str
    prefill_worker: str | None
    decode_worker: str | None
    size_bytes: float
    time_ns: int

    @property
    def pair(self) -> str:
        """Its two workers in words."""
        ends = (self.prefill_worker, self.decode_worker)
        return " to ".join("unnamed" if end is None else shortened(plain(end)) for end in ends)


@dataclass(frozen=True)
class Handoffs:
    """Handoffs by one boundary, where their sizes are from, and what was left out."""

    boundary: str
    handoffs: Sequence[Observed]
    sizes_from: str
    left_out: Sequence[str]


def observed(
    con: duckdb.DuckDBPyConnection, boundary: str, cache: Cache | None, block_tokens: int
) -> Handoffs:
    """Handoffs of completed requests by this boundary.

    The size is the logged one, else that of the whole prompt in the model's cache. InputError
    without a single one that has both.
    """
    found = rows(
        con,
        f"FROM handoff_sizes WHERE boundary = {literal(boundary)} AND status = 'completed' "
        "ORDER BY trace, request_id, attempt, choice",
    )
    timed = [row for row in found if row["handoff_ns"] is not None and row["handoff_ns"] > 0]
    sized = [(row, _size_bytes(row, cache, block_tokens)) for row in timed]
    handoffs = [_observed(row, size) for row, size in sized if size is not None]
    if not handoffs:
        raise InputError(_nothing(boundary, found, timed))
    logged = sum(row["kv_bytes"] is not None for row, size in sized if size is not None)
    left_out = list(_left_out(found, len(timed), len(handoffs)))
    return Handoffs(boundary, handoffs, _sources(logged, len(handoffs)), left_out)


def _size_bytes(row: Row, cache: Cache | None, block_tokens: int) -> float | None:
    if row["kv_bytes"] is not None:
        return float(row["kv_bytes"])
    if cache is None or row["prompt_tokens"] is None:
        return None
    return float(cache.prompt_bytes(row["prompt_tokens"], block_tokens=block_tokens))


def _observed(row: Row, size_bytes: float) -> Observed:
    return Observed(
        request=shortened(plain(row["request_id"])),
        prefill_worker=row["prefill_worker"],
        decode_worker=row["decode_worker"],
        size_bytes=size_bytes,
        time_ns=row["handoff_ns"],
    )


def _nothing(boundary: str, found: Sequence[Row], timed: Sequence[Row]) -> str:
    if not timed:
        return (
            f"no completed request has an exact handoff above 0 by boundary {boundary} "
            f"({format_count(len(found))} looked at); `query handoff_by_boundary` shows which "
            "boundary has one, --handoff chooses it, and stream needs --last-prefill-token"
        )
    return (
        f"{format_count(len(timed))} handoffs, and no log says how many bytes they moved; "
        "give the model by --model, --config, or --layers, --kv-heads and --head-dim"
    )


def _sources(logged: int, all_: int) -> str:
    if logged == all_:
        return "bytes as logged"
    whole = "the whole prompt in the model's cache"
    return whole if not logged else f"bytes as logged for {format_count(logged)}, else {whole}"


def _left_out(found: Sequence[Row], timed: int, sized: int) -> Iterator[str]:
    reasons = Counter(
        row["reason"] or "not above 0"
        for row in found
        if row["handoff_ns"] is None or row["handoff_ns"] <= 0
    )
    if reasons:
        counted = (f"{why} {format_count(count)}" for why, count in reasons.most_common())
        yield f"{format_count(reasons.total())} without an exact handoff: {', '.join(counted)}"
    if timed > sized:
        yield f"{format_count(timed - sized)} of unknown size"
