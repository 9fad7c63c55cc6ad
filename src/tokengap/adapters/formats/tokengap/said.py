"""Lines of tokengap's own log that are no mere token events, and which streams they speak of."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from tokengap.adapters.formats.tokengap.events import NOT_SAID
from tokengap.adapters.formats.tokengap.late import LateRejects
from tokengap.adapters.formats.tokengap.line import KINDS, TOKEN_KINDS
from tokengap.adapters.formats.tokengap.order import OTHER_CLOCK, Key, Place
from tokengap.schema import VANTAGES


class Said(msgspec.Struct):
    """One such line, `fields` as in `line.Record` but only those that are given.

    group: number of the attempt; line: number of the line in the call; clock: number, 0 for none;
    choice: None if the line is about all choices of its attempt; digest: stands for the times of a
    whole stream, the fields then hold none; repeated: whether the line came again.
    """

    group: int
    line: int
    fields: dict[str, Any]
    kind: str
    vantage: int
    choice: int | None
    clock: int
    carries_tokens: bool = False
    digest: bytes | None = None
    repeated: bool = False

    @property
    def place(self) -> Place:
        """Where the line's clock rules."""
        return self.group, self.vantage

    @property
    def is_stream(self) -> bool:
        """Whether the line stands for a whole stream."""
        return self.digest is not None


class SaidOf(NamedTuple):
    """All that is said of one stream, in file order."""

    key: Key
    lines: list[Said]
    one_of_several: bool
    """Whether its attempt has other choices."""


def all_said(marks: pa.Table, facts: pa.Table, clocks: Mapping[str | None, int]) -> list[Said]:
    """Lines as they were put aside, in the order of the call. clocks: numbers by name."""
    said = [*_marks(marks), *_facts(facts, clocks)]
    said.sort(key=lambda one: one.line)
    return said


def _marks(table: pa.Table) -> Iterator[Said]:
    names = ("group", "line", "vantage", "choice", "t_ns", "kind", "clock")
    columns = (table.column(name).to_pylist() for name in names)
    for group, line, vantage, choice, t_ns, kind, clock in zip(*columns, strict=True):
        of = None if choice == NOT_SAID else choice
        yield Said(group, line, {"t_ns": t_ns}, KINDS[kind], vantage, of, clock)


def _facts(table: pa.Table, clocks: Mapping[str | None, int]) -> Iterator[Said]:
    columns = (table.column(name).to_pylist() for name in ("group", "line", "digest", "record"))
    for group, line, digest, data in zip(*columns, strict=True):
        fields = msgspec.msgpack.decode(data)
        kind = fields.get("kind", "token")
        tokens = kind in TOKEN_KINDS
        vantage = VANTAGES.index(fields["vantage"]) if "vantage" in fields else NOT_SAID
        choice = fields.get("choice", 0 if tokens else None)
        clock = clocks[fields.get("clock")]
        yield Said(group, line, fields, kind, vantage, choice, clock, tokens, digest)


def on_one_vantage(
    said: list[Said], with_tokens: Iterable[Key], late: LateRejects
) -> Iterator[Said]:
    """Lines with neither tokens nor a vantage, given the only vantage of their attempt."""
    seen: dict[int, set[int]] = defaultdict(set)
    named: dict[int, set[int]] = defaultdict(set)
    for group, vantage, _ in with_tokens:
        seen[group].add(vantage)
    for one in said:
        if one.carries_tokens:
            seen[one.group].add(one.vantage)
        elif one.vantage != NOT_SAID:
            named[one.group].add(one.vantage)
    for one in said:
        found = seen[one.group] or named[one.group]
        if one.vantage == NOT_SAID and found and NOT_SAID not in found:
            one.vantage, *others = found
            if others:
                where = " and ".join(VANTAGES[vantage] for vantage in sorted(found))
                reason = f"vantage: missing, and the attempt is logged at {where}"
                late.refuse(one.line, reason, "vantage")
                continue
        yield one


def on_one_clock(
    said: Iterable[Said], clocks: dict[Place, int], late: LateRejects
) -> Iterator[Said]:
    """Lines that name the clock of their attempt, or none; completes `clocks`."""
    for one in said:
        if one.clock and clocks.setdefault(one.place, one.clock) != one.clock:
            late.refuse(one.line, OTHER_CLOCK, "clock")
        else:
            yield one


def each_whole_once(said: Iterable[Said], late: LateRejects) -> tuple[list[Said], dict[Key, int]]:
    """Of the lines for one whole stream only the first, and on which line each of those is."""
    first: dict[Key, Said] = {}
    kept = []
    for one in said:
        earlier = first.setdefault((*one.place, one.choice or 0), one) if one.is_stream else one
        if earlier is one:
            kept.append(one)
        elif (earlier.fields, earlier.digest) == (one.fields, one.digest):
            earlier.repeated = True
        else:
            reason = f"times_ns: conflicts with the same stream at {late.place(earlier.line)}"
            late.refuse(one.line, reason, "times_ns")
    return kept, {key: one.line for key, one in first.items()}


def by_stream(said: Iterable[Said], with_tokens: Collection[Key]) -> Iterator[SaidOf]:
    """Every stream, those without tokens or without a line here included, in order."""
    lines: dict[Place, list[Said]] = defaultdict(list)
    choices: dict[Place, set[int]] = defaultdict(set)
    for group, vantage, choice in with_tokens:
        choices[group, vantage].add(choice)
    for one in said:
        lines[one.place].append(one)
        choices[one.place].update(() if one.choice is None else (one.choice,))
    for place in sorted(choices):
        several = len(choices[place]) > 1
        for choice in sorted(choices[place]) or [0]:
            own = lines[place]
            if several:
                own = [one for one in own if one.choice is None or one.choice == choice]
            yield SaidOf((*place, choice), own, several)
