"""Files that are one JSON document."""

from typing import TypeVar

import msgspec

from tokengap.adapters.shared.finite import finite
from tokengap.adapters.source import Source
from tokengap.errors import InputError

T = TypeVar("T")


def document(source: Source, shape: type[T], expected: str) -> T:
    """Return the file's document as the msgspec type `shape`; InputError if it is none.

    Records kept as `msgspec.Raw` are not looked into, so that one that is bad loses no other.
    NaN and Infinity, which are not JSON but which tools write, become null. `expected` says which
    file of which tool it should be.
    """
    data = source.read()
    try:
        try:
            return msgspec.json.decode(data, type=shape)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.json.decode(finite(data), type=shape)
    except msgspec.ValidationError as error:
        raise InputError(f"{source.name}: {error}; expected {expected}") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{source.name}: not one whole JSON document ({error}); expected {expected}. A run "
            "that was stopped while it wrote leaves a file that is cut: take a finished one"
        ) from error
