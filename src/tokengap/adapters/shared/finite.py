"""NaN and Infinity, which are not JSON but which tools write."""

import re
from collections.abc import Iterator
from typing import Final

_NON_FINITE: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|(-?Infinity|NaN)\b', re.DOTALL)


def finite(data: bytes) -> bytes:
    """Put null where NaN or Infinity stands outside of text."""
    return b"".join(_finite_pieces(data))


def _finite_pieces(data: bytes) -> Iterator[bytes]:
    last = max(data.rfind(b"Infinity"), data.rfind(b"NaN"))
    begin = 0
    for match in _NON_FINITE.finditer(data):
        if match.start() > last:  # the numbers that follow need not be looked at
            break
        if match[1]:
            yield data[begin : match.start()]
            yield b"null"
            begin = match.end()
    yield data[begin:]
