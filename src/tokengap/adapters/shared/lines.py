"""One JSON record, read strictly: an object, no key twice, integers that are integers.

A key written twice is legal JSON, and every fast decoder silently keeps the last value. A count of
colons finds it: encoding what was decoded gives one colon less for every value that was lost. Only
a line that fails this count, or that may hide a colon in an escape, goes through the slow decoder,
which names the key.
"""

import json
import re
from collections import Counter
from typing import Annotated, Any, Final, TypeVar

import msgspec

from tokengap.schema import TIME_LIMIT_NS

COUNT_LIMIT: Final = 2**31 - 1

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

_ESCAPED_COLON: Final = re.compile(rb"\\u003a", re.IGNORECASE)
_PATH: Final = re.compile(r"^(.*) - at `\$\.?(.*)`$", re.DOTALL)

T = TypeVar("T")


class LineError(ValueError):
    """A record that cannot be used: why, and where one can be named the field and its value."""

    def __init__(self, reason: str, field: str | None = None, value: object = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        self.value = value


def decode(data: bytes, *, non_finite: bool = False) -> dict[str, Any]:
    """Return the JSON object in `data`; LineError if it is anything else.

    `non_finite` lets NaN and Infinity pass, which are not JSON but which tools write.
    """
    try:
        record = msgspec.json.decode(data)
        suspect = isinstance(record, dict) and may_repeat_a_key(data, record)
    except RecursionError:
        raise LineError("nested too deeply to be a log record") from None
    except (msgspec.MsgspecError, ValueError) as error:
        if not (non_finite and (b"NaN" in data or b"Infinity" in data)):
            raise LineError(f"not JSON: {error}") from error
        record = _decode_slowly(data)
        suspect = False
    if suspect:
        _decode_slowly(data)
    if not isinstance(record, dict):
        raise LineError("not a JSON object")
    return record


def may_repeat_a_key(data: bytes, record: object = msgspec.UNSET) -> bool:
    """Whether an object in `data`, which is JSON, may have a key twice.

    record: what was decoded from it, if that is at hand; encoded, it must not have more keys.
    """
    try:
        record = msgspec.json.decode(data) if record is msgspec.UNSET else record
        kept = msgspec.json.encode(record).count(b":")
    except (OverflowError, msgspec.ValidationError):  # numbers beyond 64 bits, or beyond a double
        return True
    if kept != data.count(b":"):
        return True
    # To look for one byte takes a tenth of looking for several.
    return b"\\" in data and b"\\u003" in data and _ESCAPED_COLON.search(data) is not None


def refuse_repeated_keys(data: bytes) -> None:
    """LineError if an object in `data`, which is JSON, has a key twice."""
    if may_repeat_a_key(data):
        _decode_slowly(data)


def _decode_slowly(data: bytes) -> Any:
    try:
        return json.loads(data, object_pairs_hook=_unique)
    except LineError:
        raise
    except RecursionError:
        raise LineError("nested too deeply to be a log record") from None
    except ValueError as error:
        raise LineError(f"not JSON: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise LineError(f'key "{key}" appears twice', key)
    return found


def shaped(record: object, shape: type[T]) -> T:
    """Return `record` as the msgspec type `shape`, uncoerced; LineError names what differs."""
    try:
        return msgspec.convert(record, shape)
    except msgspec.ValidationError as error:
        raise shape_error(error) from error


def shape_error(error: msgspec.ValidationError) -> LineError:
    """Name what msgspec found by its path. The value may be text and is left out."""
    found = _PATH.match(str(error))
    return LineError(f"{found[2]}: {found[1]}", found[2]) if found else LineError(str(error))


def time_ns(value: object, field: str) -> int:
    """Return `value` if it is an integer nanosecond stamp within +-`TIME_LIMIT_NS`."""
    if type(value) is int and -TIME_LIMIT_NS <= value <= TIME_LIMIT_NS:
        return value
    raise LineError(f"{field}: whole nanoseconds below 2^62 expected", field, value)


def times_ns(values: list[Any], field: str) -> list[int]:
    """Do as `time_ns` for each of them."""
    if set(map(type, values)) == {int} and max(map(abs, values)) <= TIME_LIMIT_NS:
        return values
    return [time_ns(value, field) for value in values]


def optional_time_ns(value: object, field: str) -> int | None:
    """Do as `time_ns`, but let None stay None."""
    return None if value is None else time_ns(value, field)


def tokens(value: object, field: str) -> int:
    """Return `value` if it is a token count: a whole number from 0 to 2^31 - 1."""
    if type(value) is int and 0 <= value <= COUNT_LIMIT:
        return value
    raise LineError(f"{field}: a whole number of tokens expected", field, value)
