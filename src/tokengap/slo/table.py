"""One table of a document, read strictly: each value of its kind, and no key unknown."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NoReturn, TypeVar

from tokengap.errors import UsageError
from tokengap.slo.document import Document, did_you_mean
from tokengap.slo.lines import KeyPath
from tokengap.units import INT64_MAX

MOST_DECIMALS: Final = 9
"""Of a number: a share below one in a billion is of nothing."""

_Value = TypeVar("_Value")


class Table:
    """A table, and where it stands; keys that it need not have give None."""

    def __init__(self, document: Document, path: KeyPath, known: Sequence[str]) -> None:
        """UsageError if the table is none, or has a key that is not among the known ones."""
        self.document = document
        self.path = path
        data = document.data
        for part in path:
            data = data[part]  # type: ignore[index] # a list has indices
        if not isinstance(data, dict):
            raise UsageError(f"{self.place()}: expected a table")
        self.data: dict[str, Any] = data
        for key in data:
            if key not in known:
                keys = f"the keys here are {', '.join(known)}"
                hint = did_you_mean(str(key), known)  # YAML has keys that are no texts
                self.fail(str(key), f"no such key{hint}; {keys}", value=False)

    def place(self, key: str | None = None) -> str:
        """`file:line: path` of the table or of a key in it; indices of lists are left out."""
        path = self.path if key is None else (*self.path, key)
        names = ".".join(part for part in path if isinstance(part, str))
        place = self.document.place(path)
        return f"{place}: {names}" if names else place

    def fail(self, key: str, says: str, *, value: bool = True) -> NoReturn:
        """Raise the UsageError about a key, and its value if it has one."""
        shown = f" = {_shown(self.data[key])}" if value and key in self.data else ""
        raise UsageError(f"{self.place(key)}{shown}: {says}")

    def needed(self, read: Callable[[str], _Value | None], key: str, example: str) -> _Value:
        """What `read` makes of the key. UsageError if it is not there, with an example."""
        value = read(key)
        if value is None:
            raise UsageError(f"{self.place()}: {key} is missing; write {key} = {example}")
        return value

    def inner(self, key: str, known: Sequence[str]) -> "Table":
        """The table `key`. UsageError if it is not there."""
        if self.data.get(key) is None:
            self.fail(key, "is missing", value=False)
        return Table(self.document, (*self.path, key), known)

    def tables(self, key: str, known: Sequence[str]) -> Iterator["Table"]:
        """The tables of the array `key`, if there is one."""
        items = self.data.get(key, [])
        if not isinstance(items, list):
            self.fail(key, f"expected [[{key}]], in two brackets", value=False)
        for index in range(len(items)):
            yield Table(self.document, (*self.path, key, index), known)

    def text(self, key: str) -> str | None:
        """One line of text that says something."""
        value: str | None = self._kind(key, str, "a text in quotes")
        if value is not None and (not value.isprintable() or not value.strip()):
            self.fail(key, "expected one line of text, and not an empty one")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str | None:
        """One of few words."""
        value = self.text(key)
        if value is not None and value not in choices:
            words = f"expected one of {', '.join(choices)}{did_you_mean(value, choices)}"
            self.fail(key, words)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """One text, or a list of at least one; none if the key is not there."""
        value = self.data.get(key)
        if value is None:
            return ()
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(i, str) and i and i.isprintable() for i in items):
            self.fail(key, "expected a text in quotes, or a list of texts")
        return tuple(items)

    def number(self, key: str) -> Decimal | None:
        """A number above 0, exactly as it is written."""
        stated = self._kind(key, int | Decimal, "a number")
        if stated is None:
            return None
        value = Decimal(stated)
        if value.is_nan() or not 0 < value <= INT64_MAX:
            self.fail(key, f"expected a number above 0, and not above {INT64_MAX}")
        if value != round(value, MOST_DECIMALS):
            self.fail(key, f"expected {MOST_DECIMALS} decimals at most")
        return value

    def count(self, key: str) -> int | None:
        """A whole number of 1 or more."""
        value: int | None = self._kind(key, int, "a whole number")
        if value is not None and not 1 <= value <= INT64_MAX:
            self.fail(key, f"expected 1 or more, and not above {INT64_MAX}")
        return value

    def day(self, key: str) -> date | None:
        """A date without quotes."""
        value = self.data.get(key)
        if value is not None and (not isinstance(value, date) or isinstance(value, datetime)):
            self.fail(key, "expected a date without quotes, such as 2026-01-31")
        return value

    def moment(self, key: str) -> datetime | None:
        """A time in UTC."""
        value = self._kind(key, datetime, "a time in UTC, such as 2026-01-31T02:00:00Z")
        if value is None:
            return None
        if value.tzinfo is None:
            self.fail(key, f"says no time zone; in UTC, write {value.isoformat()}Z")
        in_utc: datetime = value.astimezone(UTC)
        if value.utcoffset():
            self.fail(key, f"not in UTC; write {in_utc.replace(tzinfo=None).isoformat()}Z")
        return in_utc

    def _kind(self, key: str, kind: Any, words: str) -> Any:
        value = self.data.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            self.fail(key, f"expected {words}")
        return value


def _shown(value: object) -> str:
    shows: dict[type, Callable[[Any], str]] = {
        str: lambda text: f'"{text}"',
        bool: lambda flag: str(flag).lower(),
        datetime: lambda moment: moment.isoformat(),
    }
    return shows.get(type(value), str)(value)
