"""What the end of a request means, where clients say it in the same words."""

import re
from typing import Final

KIND_LIMIT: Final = 80

_REFUSED: Final = (429, 503)
_CLASS: Final = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?:[:(]|$)")


def status_of_http(code: int) -> str:
    """Return rejected for an answer that refuses before any work (429, 503), else failed."""
    return "rejected" if code in _REFUSED else "failed"


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
