"""Values of OTLP/JSON: 64-bit integers as text or number, ids as hex or base64, attributes.

The protobuf mapping writes 64-bit integers as text because a JSON number may pass through a double,
which has no room for nanoseconds since 1970. Both spellings are read as integers, a float is not.
"""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from math import isnan, nan
from types import NoneType
from typing import Any, Final, TypeVar

import msgspec

from tokengap.adapters.shared.lines import LineError, tokens
from tokengap.adapters.shared.seconds import ms_ns, seconds_ns
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED
from tokengap.schema import TIME_LIMIT_NS

AnyValue = Mapping[str, Any]
"""An attribute's value: one entry, which is called by its type."""

T = TypeVar("T")
_Plain = str | int | float | bool | None

Objects = list[T | list[Any] | _Plain] | dict[str, Any] | _Plain
"""Objects of one type or, as such a list costs nothing else if it is wrong, any other JSON."""


class KeyValue(msgspec.Struct, gc=False):
    """An attribute. Its value is looked at when it is asked for."""

    key: Any = msgspec.UNSET
    value: Any = None


_DIGITS: Final = 20
UNSET: Final = -1
"""A duration that stands for none, as NaN does."""
_NOT_FINITE: Final = {"NaN", "Infinity", "-Infinity"}


def whole(value: object, field: str) -> int:
    """Return an integer that is written as a number or as text; LineError for anything else."""
    if type(value) is int:
        return value
    if isinstance(value, str) and len(value) <= _DIGITS and value.isascii():
        digits = value if value.isdecimal() else value.removeprefix("-")
        if digits.isdecimal():
            return int(value)
    raise LineError(f"{field}: a whole number expected, or one as text", field, value)


def wholes(values: Sequence[Any]) -> list[Any]:
    """Do as `whole` for many, of which any may be None; ValueError if it may refuse one."""
    kinds = set(map(type, values)) - {NoneType}
    if kinds <= {int}:
        return list(values)
    there = [value for value in values if value is not None] if None in values else values
    text = "".join(there) if kinds == {str} else ""
    if not (text.isascii() and text.isdecimal()) or "" in there or max(map(len, there)) > _DIGITS:
        raise ValueError("whole numbers expected")
    if there is values:
        return list(map(int, values))
    return [None if value is None else int(value) for value in values]


def stamp_ns(value: object, field: str) -> int:
    """Return nanoseconds since 1970; LineError if they are missing or 0, which is not set."""
    stamp = whole(value, field)
    if 0 < stamp <= TIME_LIMIT_NS:
        return stamp
    raise LineError(f"{field}: nanoseconds since 1970 expected, not 0", field, value)


def hex_id(value: object, size_bytes: int, field: str) -> str:
    """Return a trace or span id as lower-case hex, which collectors write, others base64."""
    if isinstance(value, str):
        try:
            raw = bytes.fromhex(value) if len(value) == 2 * size_bytes else b64decode(value)
        except ValueError:
            raw = b""
        if len(raw) == size_bytes:
            return raw.hex()
    raise LineError(f"{field}: an id of {size_bytes} bytes expected, as hex or base64", field)


def are_hex(ids: Sequence[str], size_bytes: int) -> bool:
    """Tell whether `hex_id` would leave all of these as they are."""
    text = "\n".join(ids)
    try:
        same = bytes.fromhex(text).hex("\n", size_bytes) == text
    except ValueError:
        return False
    return same and len(text) == (2 * size_bytes + 1) * len(ids) - 1


def any_value(plain: object) -> AnyValue:
    """Return a plain JSON value as OTLP would write it."""
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": plain}
        case float():
            return {"doubleValue": plain}
        case str():
            return {"stringValue": plain}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in plain]}}
        case _:
            return {}


def by_key(pairs: Objects[KeyValue], field: str) -> dict[str, Any]:
    """Values of attributes; LineError if these are none, or one is there twice."""
    try:
        values = {pair.key: pair.value for pair in pairs}  # type: ignore[union-attr]
    except (TypeError, AttributeError):
        values = {msgspec.UNSET: None}
    if msgspec.UNSET in values:
        raise LineError(f"{field}: objects with `key` and `value` expected", field)
    if len(values) != len(pairs):  # type: ignore[arg-type]
        raise LineError(f"{field}: a key appears twice", field)
    return values


class Attributes:
    """Attributes of a span or of the process it comes from. A value is looked at when asked for."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, AnyValue]) -> None:
        self._values = values

    @classmethod
    def of(cls, pairs: Objects[KeyValue], field: str) -> "Attributes":
        """Read the list of `key` and `value` that OTLP has; LineError if it is none."""
        return cls(by_key(pairs, field)) if pairs else NO_ATTRIBUTES

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def _one(self, key: str, kind: str, other: str = "") -> Any:
        """The value, if it is of one of these kinds; None if there is none."""
        value = self._values.get(key)
        if not value:
            return None
        if isinstance(value, dict):
            if kind in value:
                return value[kind]
            if other in value:
                return value[other]
        raise LineError(f"{key}: {kind} expected", key)

    def text(self, *keys: str) -> str | None:
        """Return the first of these that is there, as text."""
        for key in keys:
            if key in self._values:
                value = self._one(key, "stringValue")
                if isinstance(value, str):
                    return value
        return None

    def first_text(self, key: str) -> str | None:
        """Return a text, or the first of a list of texts."""
        texts = self.texts(key)
        return texts[0] if texts else None

    def texts(self, key: str) -> list[str]:
        """Return a list of texts; one text alone is a list, too."""
        value = self._one(key, "arrayValue", "stringValue")
        if isinstance(value, dict):
            items = value.get("values") or ()
            texts = [item.get("stringValue") for item in items if isinstance(item, dict)]
            return [text for text in texts if isinstance(text, str)]
        return [value] if isinstance(value, str) else []

    def flag(self, *keys: str) -> bool | None:
        """Return the first of these that is there, as true or false."""
        for key in keys:
            value = self._one(key, "boolValue")
            if isinstance(value, bool):
                return value
        return None

    def integer(self, key: str) -> int | None:
        """Return a whole number."""
        value = self._one(key, "intValue")
        return None if value is None else whole(value, key)

    def count(self, *keys: str) -> int | None:
        """Return the first of these token counts that is there."""
        for key in keys:
            value = self._one(key, "intValue")
            if value is not None:
                return tokens(whole(value, key), key)
        return None

    def seconds(self, key: str) -> float | None:
        """Return a duration in seconds, NaN if it stands for none; None if it is not there."""
        number = self._number(key)
        if number is not None and not isnan(number):
            seconds_ns(number, key)
        return number

    def s_ns(self, key: str, quality: list[str], *, zero_is_unset: bool = False) -> int | None:
        """Return a duration in seconds as ns; None if it is not there or stands for none.

        What stands for none, -1, NaN and where said so 0, is noted in `quality`, as is a negative
        duration, which is kept.
        """
        number = self._number(key)
        if number is None or not (number > 0 or _is_set(number, quality, zero_is_unset)):
            return None
        return seconds_ns(number, key)

    def ms_ns(self, key: str, quality: list[str], *, zero_is_unset: bool = False) -> int | None:
        """Do as `s_ns` for milliseconds."""
        number = self._number(key)
        if number is None or not (number > 0 or _is_set(number, quality, zero_is_unset)):
            return None
        return ms_ns(number, key)

    def _number(self, key: str) -> float | None:
        value = self._one(key, "doubleValue", "intValue")
        if value is None or type(value) is float:
            return value
        return nan if isinstance(value, str) and value in _NOT_FINITE else whole(value, key)


def _is_set(number: float, quality: list[str], zero_is_unset: bool) -> bool:
    """Tell a duration that is 0 or less from a number that stands for none."""
    if isnan(number) or number == UNSET or (zero_is_unset and number == 0):
        quality.append(SENTINEL_DROPPED)
        return False
    if number < 0:
        quality.append(CLOCK_CONTRADICTION)
    return True


NO_ATTRIBUTES: Final = Attributes({})
