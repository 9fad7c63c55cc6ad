"""Records as columns: each field, and each rule, for many records at once.

A column is an Arrow array, NULL where a record lacks the field. What speaks against a record is
noted in a sieve: its row is made like the others, and left out at the end.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.fields import Fields
from tokengap.adapters.shared.names import Attempts, Names
from tokengap.adapters.shared.nested import prefixed
from tokengap.adapters.shared.seconds import ms_column, seconds_column
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.wall_time import rfc3339_column
from tokengap.adapters.source import Line
from tokengap.schema import TIME_LIMIT_NS

_SHORT: Final = (1e-3, 1e10)
"""Between these, Arrow and Python write alike what is no whole number."""


class Columns:
    """Records that follow each other in a file, field by field.

    numbers: each one's line, or its index. place: where one stands. sieve: what speaks against
    each; parts of the same records share it. within: what stands before a field's name in a reason.
    undecoded: numbers of the records among them that could not be decoded.
    """

    def __init__(
        self,
        fields: Fields,
        numbers: Ints,
        sieve: Sieve,
        place: Callable[[int], Line | int],
        within: str = "",
        undecoded: Sequence[int] = (),
    ) -> None:
        self._fields = fields
        self.numbers = numbers
        self.sieve = sieve
        self.place = place
        self._within = within
        self.undecoded = undecoded

    def __len__(self) -> int:
        """Number of records."""
        return len(self.numbers)

    @property
    def there(self) -> pa.Array:
        """Where there is such an object at all."""
        return self._fields.there

    def __getitem__(self, name: str) -> pa.Array:
        """A field that holds text, numbers or truth values."""
        return self._fields.arrays[name]

    def any_of(self, *names: str) -> pa.Array:
        """A field under the first of these names that a record has."""
        first, *others = map(self.__getitem__, names)
        return pc.coalesce(first, *others) if first.null_count else first

    def others(self, name: str) -> Sequence[Any]:
        """A field that holds anything else, as it was decoded."""
        return self._fields.others[name]

    def part(self, name: str, within: str | None = None) -> "Columns":
        """A field that holds an object, whose fields are NULL where a record lacks it."""
        within = f"{self._within}{name}." if within is None else within
        fields = self._fields.parts[name]
        return Columns(fields, self.numbers, self.sieve, self.place, within)

    def places_in(self, source_id: str) -> pa.Array:
        """Where each record stands, as written in `streams.source`."""
        return prefixed(f"{source_id}:", pc.cast(pa.array(self.numbers), pa.string()))

    def numerals(self, name: str) -> pa.Array:
        """A field that holds numbers above 0, as Python writes them; NULL for another one."""
        numbers = self[name]
        plain = pc.and_(pc.greater(numbers, _SHORT[0]), pc.less(numbers, _SHORT[1]))
        if pc.all(pc.and_(plain, pc.not_equal(numbers, pc.trunc(numbers)))).as_py():
            return pc.cast(numbers, pa.string())
        return pa.array([str(n) if n else None for n in numbers.to_pylist()], pa.string())

    def named(self, names: Names, logged: pa.Array) -> pa.Array:
        """Request ids, from the logged ones."""
        given = names.names(logged.to_pylist(), self.numbers, self.sieve.good)
        return logged if given is None else pa.array(given, pa.string())

    def attempts(self, attempts: Attempts, names: pa.Array) -> pa.Array:
        """Number requests whose id comes again."""
        return pa.array(attempts.numbers(names.to_pylist(), self.sieve.good), pa.int32())

    def seconds_ns(self, field: str | pa.Array, label: str | None = None) -> pa.Array:
        """Seconds as ns. field: its name, or what was made of it, and label: what to call it."""
        return self._ns(field, label, seconds_column, "seconds")

    def ms_ns(self, field: str | pa.Array, label: str | None = None) -> pa.Array:
        """Milliseconds as ns. field: its name, or what was made of it, and label: its name."""
        return self._ns(field, label, ms_column, "milliseconds")

    def wall_ns(self, field: str | pa.Array, label: str | None = None) -> pa.Array:
        """Dates and times with their zone as ns since 1970. field, label: as of `seconds_ns`."""
        column = self[field] if isinstance(field, str) else field
        ns, wrong = rfc3339_column(column, f"{self._within}{field}" if label is None else label)
        for row, error in wrong.items():
            self.sieve.refuse_one(row, error)
        return ns

    def after_ns(self, start_ns: pa.Array, lasted_ns: pa.Array, label: str) -> pa.Array:
        """Ends of durations; NULL without either. label: what to call it where that is no time."""
        end_ns = pc.add(start_ns, lasted_ns)
        beyond = pc.greater(pc.abs(end_ns), TIME_LIMIT_NS)
        self.refuse(beyond, f"{label}: whole nanoseconds below 2^62 expected", label, end_ns)
        return end_ns

    def pass_over(self, where: pa.Array) -> None:
        """Make no row of these records, which is no fault of theirs; NULL is not."""
        self.sieve.pass_over(is_true(where))

    def refuse(
        self,
        where: pa.Array,
        reason: str,
        label: str | None = None,
        column: pa.Array | None = None,
    ) -> None:
        """Refuse the records where this is so; NULL is not. column: what they hold."""
        self.sieve.put_aside(is_true(where), reason, label, column)

    def _ns(
        self,
        field: str | pa.Array,
        label: str | None,
        convert: Callable[[pa.Array], tuple[pa.Array, Bools]],
        expected: str,
    ) -> pa.Array:
        column = self[field] if isinstance(field, str) else field
        name = f"{self._within}{field}" if label is None else label
        ns, bad = convert(column)
        self.sieve.put_aside(bad, f"{name}: {expected} expected", name, column)
        return ns


def is_true(column: pa.Array) -> Bools:
    """Where this is so; NULL is not."""
    found: Bools = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found


def unless(where: pa.Array, column: pa.Array) -> pa.Array:
    """The column, NULL where this is so."""
    return pc.if_else(where, None, column)


def unless_0(column: pa.Array) -> pa.Array:
    """The column, NULL where it is 0: never set."""
    return pc.if_else(pc.equal(column, 0), None, column)


def unless_empty(texts: pa.Array) -> pa.Array:
    """The texts, NULL where one is empty."""
    return pc.if_else(pc.equal(texts, ""), None, texts)
