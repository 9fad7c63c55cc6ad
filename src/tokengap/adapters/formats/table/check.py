"""What a map must fulfil beyond its shape: its parts fit together."""

from collections.abc import Iterable
from difflib import get_close_matches

from tokengap.adapters.formats.table.mapping import (
    IGNORED,
    KINDS,
    OF_REQUEST_ROWS,
    OF_TOKEN_ROWS,
    TIMES,
    Map,
    Text,
    since_of,
)
from tokengap.schema import ORIGINS, STATUSES


class MapError(ValueError):
    """What is wrong in a map, and at which path."""

    def __init__(self, text: str, *path: str) -> None:
        super().__init__(text)
        self.path = path


def meant(name: str, known: Iterable[str]) -> str:
    """What an unknown name may stand for, or all there is."""
    known = list(known)
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def check(mapping: Map) -> None:
    """MapError if the parts of the map contradict each other, or one lacks another."""
    _check_shape(mapping)
    _check_tokens(mapping)
    _check_since(mapping)
    _check_clock(mapping)
    _check_words(mapping.columns.status, STATUSES, "status")
    _check_words(mapping.columns.event, (*KINDS, IGNORED), "event")


def _check_shape(mapping: Map) -> None:
    columns = mapping.columns
    for name in OF_TOKEN_ROWS if mapping.rows == "request" else OF_REQUEST_ROWS:
        if getattr(columns, name) is not None:
            text = f'not where rows = "{mapping.rows}"; leave it out, or change rows'
            raise MapError(text, "columns", name)
    if mapping.rows == "token" and columns.request_id is None:
        raise MapError("request_id is missing: the rows of one request share it", "columns")
    if mapping.rows == "token" and columns.time is None:
        raise MapError("time is missing: when each token came", "columns")


def _check_tokens(mapping: Map) -> None:
    columns = mapping.columns
    told = {"token_times": ("first_token", "last_token", "gaps"), "gaps": ("last_token",)}
    if columns.gaps is not None and columns.gaps.since != "first_token":
        told["gaps"] = ("last_token", "first_token")
    for name, others in told.items():
        for other in others:
            if None not in (getattr(columns, name), getattr(columns, other)):
                raise MapError(f"{name} says it already; leave one out", "columns", other)
    if columns.token_counts is not None and (columns.token_times or columns.gaps) is None:
        raise MapError("no token_times or gaps that it could count", "columns", "token_counts")


def _check_since(mapping: Map) -> None:
    for part, name, cell in mapping.cells():
        seen, since = [name], since_of(cell)
        while since is not None:
            place = (part, seen[-1])
            if since not in TIMES:
                raise MapError(f"since: no time is called {since}; {meant(since, TIMES)}", *place)
            if since in seen:
                raise MapError(f"since: {since} counts from {seen[-1]} itself", *place)
            before = getattr(mapping.columns, since)
            if before is None and since != mapping.own_origin:
                raise MapError(f"since: {_unmapped(mapping, since)}", *place)
            seen.append(since)
            since = None if before is None else since_of(before)
    origin = mapping.own_origin
    if origin is not None and origin not in ORIGINS:
        raise MapError(f"{origin} is missing: other columns count from it", "columns")


def _unmapped(mapping: Map, name: str) -> str:
    if mapping.stamps:
        return f"{name} is not mapped; say which column holds it, as {mapping.stamps[0]} has one"
    return f"{name} and {mapping.own_origin} are both not mapped; count from one of them"


def _check_clock(mapping: Map) -> None:
    if mapping.stamps and mapping.clock is None:
        raise MapError(
            f'clock is missing: which clock {mapping.stamps[0]} is on; write clock = {{ kind = '
            '"wall" }, or "monotonic"',
            "columns", mapping.stamps[0],
        )  # fmt: skip
    if mapping.clock is not None and not mapping.stamps:
        raise MapError(
            "no column holds a stamp, so that each request is on a clock of its own; leave it out",
            "clock",
        )


def _check_words(cell: Text | None, known: Iterable[str], name: str) -> None:
    """Whatever the cell is translated to is a known word."""
    if cell is None:
        return
    words = [*cell.values.values(), *filter(None, (cell.value, cell.other))]
    for word in words:
        if word not in known:
            raise MapError(f"no {name} is called {word!r}; {meant(word, known)}", "columns", name)
