"""Dates and times as text, with their zone: RFC 3339, up to nine digits of a second."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.lines import LineError, time_ns
from tokengap.adapters.shared.seconds import NS_PER_S
from tokengap.schema import TIME_LIMIT_NS

_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)"
)
_USUAL: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$"
"""The form of most of them, which Arrow reads alike."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


def rfc3339_ns(text: str, field: str) -> int:
    """Return wall ns since 1970, exactly; LineError if it is no such time or names no zone."""
    parts = _RFC3339.fullmatch(text)
    seconds = parts and _seconds(parts[1], parts[2], parts[4])
    if parts is None or seconds is None:
        raise LineError(
            f"{field}: a date and time with its zone expected, as 2026-01-31T12:00:00.5Z", field
        )
    return time_ns(seconds * NS_PER_S + int((parts[3] or "").ljust(9, "0")), field)


@lru_cache(maxsize=64)  # lines that follow each other most often share their second
def _seconds(day: str, clock: str, zone: str) -> int | None:
    """Return whole seconds since 1970; None for a day or an hour that does not exist."""
    try:
        there = datetime.fromisoformat(f"{day}T{clock}{zone.upper()}")
    except ValueError:
        return None
    return (there - _EPOCH) // _SECOND


def rfc3339_column(texts: pa.Array, field: str) -> tuple[pa.Array, dict[int, LineError]]:
    """Do as `rfc3339_ns` for a column, and tell the rows where it fails; NULL stays NULL."""
    usual = pc.match_substring_regex(texts, _USUAL)
    try:
        read = pc.cast(pc.if_else(usual, texts, None), pa.timestamp("ns", "UTC"))
    except pa.ArrowInvalid:  # a day that does not exist, or one far away
        read = pa.nulls(len(texts), pa.timestamp("ns", "UTC"))
    ns = pc.fill_null(pc.cast(read, pa.int64()), TIME_LIMIT_NS + 1).to_numpy()
    there = pc.is_valid(texts).to_numpy(zero_copy_only=False)
    left = np.flatnonzero(there & (np.abs(ns) > TIME_LIMIT_NS)).tolist()
    if not left:
        return pa.array(ns, mask=None if there.all() else ~there), {}
    ns, wrong = ns.copy(), {}
    for row in left:
        try:
            ns[row] = rfc3339_ns(texts[row].as_py(), field)
        except LineError as error:
            wrong[row], there[row] = error, False
    return pa.array(ns, mask=~there), wrong
