"""Many records of one shape at once, decoded as strictly as `Records` does one.

What a decoder of many lines does not see is looked at for all of them together: text that is not
UTF-8, a line that is not one object, a key that comes twice. Where that is not sure to be right,
fewer and fewer records are tried, and the last few are decoded one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec
import numpy as np
from msgspec import inspect

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.fields import Fields, Layout
from tokengap.adapters.shared.finite import finite
from tokengap.adapters.shared.keys import Shapes, keys_to_find, rests
from tokengap.adapters.shared.lines import LineError, may_repeat_a_key
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.record_files import Item, Piece
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Line, Source

T = TypeVar("T")

SINGLY: Final = 16
"""So few records are decoded one by one."""

_PARTS: Final = 16
_REMEMBERED: Final = 4096
_ALIKE: Final = 8
"""So many lines that leave the same rest are worth a closer look at one of them."""
_BREAK: Final = b"\n"


@dataclass(frozen=True)
class Decoded:
    """Records that could be decoded, and the number of each: its line, or its index."""

    fields: Fields
    numbers: Ints


class BulkRecords(Generic[T]):
    """Decodes records of the msgspec type `logged` into structs of the type `shape`.

    of: gives the struct for a record, where it is another one; LineError if there is none.
    non_finite: take NaN and Infinity, which are not JSON but which tools write, for null.
    """

    def __init__(
        self,
        shape: type[msgspec.Struct],
        logged: type[T],
        of: Callable[[T], msgspec.Struct] | None = None,
        *,
        non_finite: bool = False,
    ) -> None:
        self._layout = Layout(inspect.type_info(shape))
        self._of: Callable[[Any], Any] | None = of
        self._one = Records(logged, non_finite=non_finite)
        self._non_finite = non_finite
        self._many = msgspec.json.Decoder(logged)
        self._shapes = Shapes()
        self._sure = {b""}

    def decode(self, piece: Piece, source: Source, intake: Intake) -> Decoded:
        """Return the records of a piece; those that cannot be decoded go to `intake`."""
        found = self._together(piece.text)
        if found is not None:
            records, lines = found
            return Decoded(self._layout.fields(records), piece.numbers(lines))
        kept = list(self._narrow(list(piece.items()), source, intake))
        numbers = np.array([number_of(place) for place, _ in kept], np.int64)
        return Decoded(self._layout.fields([record for _, record in kept]), numbers)

    def _together(self, text: bytes) -> tuple[Sequence[Any], Ints] | None:
        """Records of lines, and which lines these are; None if it is not sure that all are good."""
        if b"\r" in text:
            text = text.replace(b"\r\n", _BREAK)
        if self._non_finite and (b"NaN" in text or b"Infinity" in text):
            text = finite(text)
        try:
            if not text.isascii():
                text.decode()  # the decoder lets any bytes pass in fields that it skips
            records = self._many.decode_lines(text)
            left = rests(text)
            if not left[-1]:
                left.pop()  # what comes after the last line break is no line
            if self._may_repeat_a_key(text, left):
                return None
            structs = records if self._of is None else list(map(self._of, records))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        lines = np.arange(len(left))
        if b"" in left:
            lines = lines[[bool(rest) for rest in left]]
        return (structs, lines) if len(structs) == len(lines) else None

    def _may_repeat_a_key(self, text: bytes, left: Sequence[bytes]) -> bool:
        """Whether a line may have a key twice, or an object that goes beyond it.

        No object does if each line begins with one and ends with one: within a larger one, there
        would be a comma between two lines.
        """
        new = set(left) - self._sure
        self._sure.update(rest for rest in new if self._shapes.repeat_no_key(rest))
        unsure = new - self._sure
        if not unsure:
            return False
        if len(self._sure) > _REMEMBERED:
            self._sure = {b""}
        lines = text.split(_BREAK)
        if any(line and (line[:1] != b"{" or line[-1:] != b"}") for line in lines):
            return True
        alike: dict[bytes, list[bytes]] = {rest: [] for rest in unsure}
        for line, rest in zip(lines, left, strict=False):
            if rest in alike:
                alike[rest].append(line)
        suspects = [line for some in alike.values() for line in _suspects(some)]
        return bool(suspects) and may_repeat_a_key(b"[%b]" % b",".join(suspects))

    def _narrow(
        self, items: Sequence[Item], source: Source, intake: Intake
    ) -> Iterator[tuple[Line | int, Any]]:
        if len(items) <= SINGLY:
            yield from self._singly(items, source, intake)
            return
        size = -(-len(items) // _PARTS)
        for begin in range(0, len(items), size):
            some = items[begin : begin + size]
            found = self._together(_BREAK.join(data for _, data in some))
            if found is None:
                yield from self._narrow(some, source, intake)
            else:
                yield from zip((place for place, _ in some), found[0], strict=True)

    def _singly(
        self, items: Sequence[Item], source: Source, intake: Intake
    ) -> Iterator[tuple[Line | int, Any]]:
        for place, data in items:
            try:
                record = self._one.decode(data)
                struct = record if self._of is None else self._of(record)
            except LineError as error:
                intake.reject(source, place, error.reason, error.field, error.value)
            else:
                yield place, struct


def _suspects(alike: Sequence[bytes]) -> Sequence[bytes]:
    """Lines that may have a key twice, of some that leave the same rest."""
    keys = keys_to_find(alike[0]) if len(alike) >= _ALIKE else None
    return alike if keys is None else [ln for ln in alike if not all(key in ln for key in keys)]
