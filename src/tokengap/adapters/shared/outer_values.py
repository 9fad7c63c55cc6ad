"""Large JSON objects of which few values are wanted: the rest is checked, but not read."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from tokengap.adapters.shared.finite import finite
from tokengap.adapters.shared.lines import LineError, decode

_OUTER: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

_STYLES: Final = ((b": ", b", "), (b":", b","))
"""How Python and JavaScript write colons and commas."""

T = TypeVar("T")


def outer_values(data: bytes) -> dict[str, msgspec.Raw]:
    """Return the values of a JSON object, each as its bytes; LineError if it is none.

    NaN and Infinity, which are not JSON but which tools write, become null. LineError, too, if the
    object has a key twice.
    """
    data = data.strip()
    try:
        try:
            values = _OUTER.decode(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            data = finite(data)
            values = _OUTER.decode(data)
        if not data.isascii():
            data.decode()  # values that are not read may hold any bytes
    except msgspec.ValidationError as error:
        raise LineError("not a JSON object") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LineError(f"not JSON: {error}") from error
    if not any(_fill(values, data, colon, comma) for colon, comma in _STYLES):
        decode(data)
    return values


def _fill(values: Mapping[str, msgspec.Raw], data: bytes, colon: bytes, comma: bytes) -> bool:
    """Whether these values, one after another, are all of the object: none gave way to another."""
    at = len(b"{")
    for key, value in values.items():
        before = (comma if at > 1 else b"") + msgspec.json.encode(key) + colon
        if not data.startswith(before, at):
            return False
        at += len(before) + len(memoryview(value))
    return data[at:] == b"}"


def read(values: Mapping[str, msgspec.Raw], name: str, shape: type[T]) -> T | None:
    """Return a value as the msgspec type `shape`; None if it is missing or of another type."""
    try:
        return msgspec.json.decode(values.get(name, msgspec.Raw(b"null")), type=shape | None)
    except msgspec.ValidationError:
        return None
