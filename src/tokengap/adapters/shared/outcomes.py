"""What the end of a request means, where clients say it in the same words."""

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.nested import prefixed

HTTP_ERROR: Final = 400
KIND_LIMIT: Final = 80

_REFUSED: Final = (429, 503)
_REFUSED_REASONS: Final = ("Too Many Requests", "Service Unavailable")
_CLASS: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:[:(]|$)")


def status_of_http(code: int) -> str:
    """Return rejected for an answer that refuses before any work (429, 503), else failed."""
    return "rejected" if code in _REFUSED else "failed"


def statuses_of_http(codes: pa.Array) -> pa.Array:
    """Do as `status_of_http` for a column."""
    return pc.if_else(pc.is_in(codes, pa.array(_REFUSED, codes.type)), "rejected", "failed")


def kinds_of_http(codes: pa.Array, otherwise: pa.Array) -> pa.Array:
    """Name failures by their HTTP code, those without one that tells of an error `otherwise`."""
    is_error = pc.fill_null(pc.greater_equal(codes, HTTP_ERROR), False)
    return pc.if_else(is_error, prefixed("http_", pc.cast(codes, pa.string())), otherwise)


def status_of_reason(reason: str) -> str:
    """Do as `status_of_http` for a log that keeps only the words beside the code."""
    return "rejected" if reason in _REFUSED_REASONS else "failed"


def status_of_exception(kind: str) -> str:
    """Return timed_out where the client gave up waiting, else failed."""
    return "timed_out" if "timeout" in kind.lower() else "failed"


def error_kind(text: str) -> str:
    """Return the class of the exception a message or traceback ends with, without its module.

    Text that names no class is kept as it is, cut to `KIND_LIMIT` characters.
    """
    last = text.strip().rsplit("\n", 1)[-1].strip()
    named = _CLASS.match(last)
    return named[1] if named else last[:KIND_LIMIT]
