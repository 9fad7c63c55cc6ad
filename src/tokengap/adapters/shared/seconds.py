"""Times and durations that a log holds as floating-point seconds or milliseconds."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.lines import LineError
from tokengap.schema import TIME_LIMIT_NS

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000


def seconds_ns(seconds: float, field: str) -> int:
    """Return seconds as ns, rounded once; LineError beyond `TIME_LIMIT_NS`.

    Wall seconds fill a double's digits: multiplied as they are, they would be rounded to 256 ns.
    """
    if not abs(seconds) <= TIME_LIMIT_NS / NS_PER_S:  # NaN is not either
        raise LineError(f"{field}: seconds expected", field, seconds)
    whole = int(seconds)
    return whole * NS_PER_S + round((seconds - whole) * NS_PER_S)


def ms_ns(ms: float, field: str) -> int:
    """Return milliseconds as ns, rounded once; LineError beyond `TIME_LIMIT_NS`."""
    if not abs(ms) <= TIME_LIMIT_NS / NS_PER_MS:
        raise LineError(f"{field}: milliseconds expected", field, ms)
    return round(ms * NS_PER_MS)


def seconds_column(seconds: pa.Array) -> tuple[pa.Array, Bools]:
    """Do as `seconds_ns` for a column; NULL where that refuses a value, and where it does."""
    values, known, bad = _within(seconds, TIME_LIMIT_NS / NS_PER_S)
    whole = np.trunc(values)
    part = np.rint((values - whole) * NS_PER_S)
    return _nullable(whole.astype(np.int64) * NS_PER_S + part.astype(np.int64), known), bad


def ms_column(ms: pa.Array) -> tuple[pa.Array, Bools]:
    """Do as `ms_ns` for a column; NULL where that refuses a value, and where it does."""
    if pa.types.is_integer(ms.type):
        most = TIME_LIMIT_NS // NS_PER_MS
        beyond = pc.or_(pc.greater(ms, most), pc.less(ms, -most))
        ns = pc.multiply(pc.if_else(beyond, None, ms), NS_PER_MS)
        return ns, pc.fill_null(beyond, fill_value=False).to_numpy(zero_copy_only=False)
    values, known, bad = _within(ms, TIME_LIMIT_NS / NS_PER_MS)
    return _nullable(np.rint(values * NS_PER_MS).astype(np.int64), known), bad


def _within(column: pa.Array, most: float) -> tuple[npt.NDArray[np.float64], Bools, Bools]:
    """Values, 0 where there is none; where there is one; and where it is too large."""
    values = column.to_numpy(zero_copy_only=False)
    known = np.abs(values) <= most  # NaN, which also stands for NULL, is not
    if known.all():
        return values, known, ~known
    bad = pc.is_valid(column).to_numpy(zero_copy_only=False) & ~known
    return np.where(known, values, 0.0), known, bad


def _nullable(values: Ints, known: Bools) -> pa.Array:
    return pa.array(values, mask=None if known.all() else ~known)
