"""Lines of tokengap's own log that say more than that a token came, and which stream they mean."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from tokengap.adapters.late import LateRejects
from tokengap.adapters.tokengap_events import NOT_SAID
from tokengap.adapters.tokengap_line import TOKEN_KINDS
from tokengap.adapters.tokengap_order import OTHER_CLOCK, Key, Place
from tokengap.schema import VANTAGES


@dataclass(slots=True)
class Said:
    """One such line, `fields` as in `tokengap_line.Record` but only those that are given.

    group: number of the attempt; line: number of the line in the call; digest: stands for the
    times of a whole stream, the fields then hold none; choice: None if the line is about all
    choices of its attempt; repeated: whether the line came again.
    """

    group: int
    line: int
    digest: bytes | None
    fields: dict[str, Any]
    kind: str
    vantage: int
    choice: int | None
    carries_tokens: bool
    repeated: bool = False

    @classmethod
    def of(cls, group: int, line: int, digest: bytes | None, fields: dict[str, Any]) -> "Said":
        """The line as it was put aside."""
        kind = fields.get("kind", "token")
        tokens = kind in TOKEN_KINDS
        vantage = VANTAGES.index(fields["vantage"]) if "vantage" in fields else NOT_SAID
        choice = fields.get("choice", 0 if tokens else None)
        return cls(group, line, digest, fields, kind, vantage, choice, tokens)

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


def decoded(facts: pa.Table) -> list[Said]:
    """Lines as they were put aside."""
    columns = (facts.column(n).to_pylist() for n in ("group", "line", "digest", "record"))
    return [
        Said.of(group, line, digest, msgspec.msgpack.decode(data))
        for group, line, digest, data in zip(*columns, strict=True)
    ]


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
    said: Iterable[Said], clocks: dict[Place, int], number: dict[str | None, int], late: LateRejects
) -> Iterator[Said]:
    """Lines that name the clock of their attempt, or none; completes `clocks`.

    number: of each clock, 0 for none.
    """
    for one in said:
        clock = number[one.fields.get("clock")]
        if clock and clocks.setdefault(one.place, clock) != clock:
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
        place = one.place
        lines[place].append(one)
        found = choices[place]
        if one.choice is not None:
            found.add(one.choice)
    for place in sorted(choices):
        several = len(choices[place]) > 1
        for choice in sorted(choices[place]) or [0]:
            own = [one for one in lines[place] if one.choice is None or one.choice == choice]
            yield SaidOf((*place, choice), own, several)
