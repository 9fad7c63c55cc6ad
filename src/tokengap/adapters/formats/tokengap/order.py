"""Token events of many streams in order: repeats dropped, and lines that contradict set apart."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.tokengap.events import IN_STREAM, NOT_SAID
from tokengap.adapters.formats.tokengap.late import LateRejects
from tokengap.adapters.formats.tokengap.line import KINDS

Place = tuple[int, int]
"""Where one clock rules: number of the attempt, number of the vantage."""
Key = tuple[int, int, int]
"""A stream: its place and its choice."""

ORDER: Final = ("vantage", "choice", "index", "line")
"""Columns that token events are sorted by, after their group."""

OTHER_CLOCK: Final = "clock: not the one of the attempt at this vantage"

_TEXT: Final = KINDS.index("text")
_REASONING: Final = KINDS.index("reasoning")
_NOWHERE: Final = 2**62


@dataclass(frozen=True)
class Rows:
    """Token events, sorted by group and `ORDER`. A group is an attempt; clock 0 is none named.

    tokens: 0 where the line gives no number.
    """

    group: Ints
    vantage: Ints
    choice: Ints
    index: Ints
    line: Ints
    t_ns: Ints
    tokens: Ints
    kind: Ints
    clock: Ints

    @classmethod
    def of(cls, table: pa.Table) -> "Rows":
        """The columns of a sorted table."""
        return cls(*(table.column(f.name).to_numpy() for f in fields(cls)))

    def where(self, keep: Bools) -> "Rows":
        """The marked rows only."""
        if keep.all():
            return self
        return Rows(*(getattr(self, f.name)[keep] for f in fields(self)))

    @cached_property
    def starts(self) -> Ints:
        """Where each stream begins."""
        return _changes(self.group, self.vantage, self.choice)

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each stream."""
        return np.diff(self.starts, append=len(self.group))

    @cached_property
    def streams(self) -> list[Key]:
        """The key of each stream."""
        at = self.starts
        columns = (self.group[at], self.vantage[at], self.choice[at])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def named_clocks(self) -> dict[Place, int]:
        """The clock each place names first in the file, where it names one."""
        at = _changes(self.group, self.vantage, self.choice, self.clock)
        line = np.minimum.reduceat(self.line, at) if len(at) else at
        columns = (line, self.group[at], self.vantage[at], self.clock[at])
        named = sorted(row for row in zip(*(c.tolist() for c in columns), strict=True) if row[3])
        return {(group, vantage): clock for _, group, vantage, clock in reversed(named)}


def _changes(*columns: Ints) -> Ints:
    fresh = np.zeros(len(columns[0]), bool)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(fresh)


class Run(NamedTuple):
    """The token events of one stream: how many, on which lines first and last, and what to note."""

    events: int
    lines: tuple[int, int]
    repeated: bool
    unindexed: bool
    """Whether they are in the order of the file."""
    first_answer_ns: int | None
    """The first text that has reasoning before it."""


NO_TOKENS: Final = Run(0, (0, 0), repeated=False, unindexed=False, first_answer_ns=None)


def settle(
    rows: Rows, whole: Mapping[Key, int], clocks: Mapping[Place, int], late: LateRejects
) -> tuple[Rows, dict[Key, Run]]:
    """What counts of sorted rows, and the streams they make up.

    whole: line of each stream that was logged as one line; clocks: the clock of each place.
    """
    rows = _of_whole_streams(rows, whole, late)
    rows = _on_one_clock(rows, clocks, late)
    rows = _all_indexed(rows, late)
    rows, repeated = _once(rows, late)
    starts = rows.starts
    if not len(starts):
        return rows, {}
    first = np.minimum.reduceat(rows.line, starts).tolist()
    last = np.maximum.reduceat(rows.line, starts).tolist()
    runs = zip(
        rows.sizes.tolist(), zip(first, last, strict=True), repeated.tolist(),
        (rows.index[starts] == NOT_SAID).tolist(), _answers(rows, starts),
        strict=True,
    )  # fmt: skip
    return rows, dict(zip(rows.streams, map(Run._make, runs), strict=True))


def _of_whole_streams(rows: Rows, whole: Mapping[Key, int], late: LateRejects) -> Rows:
    if not whole:
        return rows
    line = np.repeat([whole.get(key, -1) for key in rows.streams], rows.sizes)
    keep = (line < 0) | (line == rows.line)
    for row in np.flatnonzero(~keep & (rows.kind != IN_STREAM)).tolist():
        given = late.place(int(line[row]))
        late.refuse(int(rows.line[row]), f"t_ns: the whole stream is given at {given}", "t_ns")
    return rows.where(keep)


def _on_one_clock(rows: Rows, clocks: Mapping[Place, int], late: LateRejects) -> Rows:
    if not rows.clock.any() or (rows.clock == rows.clock[0]).all():
        return rows
    expected = np.repeat([clocks.get(key[:2], 0) for key in rows.streams], rows.sizes)
    keep = (rows.clock == 0) | (rows.clock == expected)
    for line in np.unique(rows.line[~keep]).tolist():
        late.refuse(line, OTHER_CLOCK, "clock")
    return rows.where(keep)


def _all_indexed(rows: Rows, late: LateRejects) -> Rows:
    """Without the unindexed events of streams that have an index elsewhere."""
    ends = rows.starts + rows.sizes - 1
    indexed = np.repeat(rows.index[ends] != NOT_SAID, rows.sizes)
    keep = (rows.index != NOT_SAID) | ~indexed
    for line in rows.line[~keep].tolist():
        late.refuse(line, "index: missing, and other events of the stream have one", "index")
    return rows.where(keep)


def _once(rows: Rows, late: LateRejects) -> tuple[Rows, Bools]:
    """Each index once, the first in the file, and which streams had one again."""
    starts = rows.starts
    again = np.zeros(len(rows.index), bool)
    again[1:] = (rows.index[1:] == rows.index[:-1]) & (rows.index[1:] != NOT_SAID)
    again[starts] = False
    if not again.any():
        return rows, np.zeros(len(starts), bool)
    first = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))
    conflict = np.zeros(len(again), bool)
    for name, values in (("t_ns", rows.t_ns), ("n_tokens", rows.tokens)):
        differs = again & ~conflict & (values != values[first])
        conflict |= differs
        for row in np.flatnonzero(differs).tolist():
            earlier, later = (int(values[at]) for at in (first[row], row))
            reason = f"conflicts with the earlier event of this index, {earlier} at"
            place = late.place(int(rows.line[first[row]]))
            late.refuse(int(rows.line[row]), f"{name}: {reason} {place}", name, later)
    return rows.where(~again), np.logical_or.reduceat(again & ~conflict, starts)


def _answers(rows: Rows, starts: Ints) -> list[int | None]:
    if not (rows.kind == _REASONING).any():
        return [None] * len(starts)
    at = np.arange(len(rows.kind))
    text = np.minimum.reduceat(np.where(rows.kind == _TEXT, at, _NOWHERE), starts).tolist()
    reasoning = np.minimum.reduceat(np.where(rows.kind == _REASONING, at, _NOWHERE), starts)
    return [
        int(rows.t_ns[answer]) if thought < answer < _NOWHERE else None
        for answer, thought in zip(text, reasoning.tolist(), strict=True)
    ]
