"""Records of one shape, decoded strictly: the way from bytes to a msgspec struct."""

from typing import Generic, TypeVar

import msgspec
from msgspec import inspect

from tokengap.adapters.shared.finite import finite
from tokengap.adapters.shared.keys import Shapes, key_read_twice
from tokengap.adapters.shared.lines import (
    LineError,
    decode,
    may_repeat_a_key,
    shape_error,
)

T = TypeVar("T")


class Records(Generic[T]):
    """Decodes records of the msgspec type `shape`.

    A key that is read may not stand twice in its object. One that is not read may: neither value
    is used.

    non_finite: take NaN and Infinity, which are not JSON but which tools write, for null.
    """

    def __init__(self, shape: type[T], *, non_finite: bool = False) -> None:
        self._type = inspect.type_info(shape)
        self._non_finite = non_finite
        self._decoder = msgspec.json.Decoder(shape)
        self._shapes = Shapes()

    def decode(self, data: bytes) -> T:
        """Return the record in `data`; LineError if it is no such record, or repeats a key."""
        try:
            record = self._decoder.decode(data)
            if not data.isascii():
                data.decode()  # the decoder lets any bytes pass in fields that it skips
        except msgspec.ValidationError as error:
            decode(data, non_finite=self._non_finite)  # what else is wrong with it comes first
            raise shape_error(error) from error
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            plain = finite(data) if self._non_finite else data
            if plain != data:
                return self.decode(plain)
            decode(data)  # says what is wrong
            raise LineError(f"not JSON: {error}") from error
        if not self._shapes.repeat_no_key(data) and may_repeat_a_key(data):
            key = key_read_twice(data, self._type)
            if key is not None:
                raise LineError(f'key "{key}" appears twice', key)
        return record
