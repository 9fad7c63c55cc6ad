"""Lines of tokengap's own log that say more than that a token came, and which stream they mean."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import pyarrow as pa

from tokengap.adapters.late import LateRejects
from tokengap.adapters.tokengap_events import NOT_SAID
from tokengap.adapters.tokengap_line import Record
from tokengap.adapters.tokengap_order import OTHER_CLOCK, Key, Place
from tokengap.schema import VANTAGES


@dataclass(slots=True)
class Said:
    """One such line. `digest` stands for the times of a whole stream, `repeated` if it came again.

    `group` is the attempt's number, `line` the line's in the call.
    """

    group: int
    line: int
    digest: bytes | None
    record: Record
    vantage: int
    repeated: bool = False

    @property
    def place(self) -> Place:
        """Where the line's clock rules."""
        return self.group, self.vantage

    @property
    def names_a_choice(self) -> bool:
        """Whether the line is about one choice of its attempt, not about all of them."""
        return self.record.choice is not None or self.record.carries_tokens

    @property
    def choice(self) -> int:
        """The choice it is about, where it is about one."""
        return self.record.choice or 0


class SaidOf(NamedTuple):
    """All that is said of one stream, in file order."""

    key: Key
    lines: list[Said]
    one_of_several: bool
    """Whether its attempt has other choices."""


def decoded(facts: pa.Table) -> list[Said]:
    """Lines as they were put aside."""
    columns = (facts.column(n).to_pylist() for n in ("group", "line", "digest", "record"))
    decoder = msgspec.msgpack.Decoder(Record)
    return [
        Said(group, line, digest, record := decoder.decode(data), _vantage(record))
        for group, line, digest, data in zip(*columns, strict=True)
    ]


def _vantage(record: Record) -> int:
    return NOT_SAID if record.vantage is None else VANTAGES.index(record.vantage)


def on_one_vantage(
    said: list[Said], with_tokens: Iterable[Key], late: LateRejects
) -> Iterator[Said]:
    """Lines with neither tokens nor a vantage, given the only vantage of their attempt."""
    seen: dict[int, set[int]] = defaultdict(set)
    named: dict[int, set[int]] = defaultdict(set)
    for group, vantage, _ in with_tokens:
        seen[group].add(vantage)
    for one in said:
        if one.record.carries_tokens:
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
        clock = number[one.record.clock]
        if clock and clocks.setdefault(one.place, clock) != clock:
            late.refuse(one.line, OTHER_CLOCK, "clock")
        else:
            yield one


def each_whole_once(said: Iterable[Said], late: LateRejects) -> tuple[list[Said], dict[Key, int]]:
    """Of the lines for one whole stream only the first, and on which line each of those is."""
    first: dict[Key, Said] = {}
    kept = []
    for one in said:
        earlier = first.setdefault((*one.place, one.choice), one) if one.record.is_stream else one
        if earlier is one:
            kept.append(one)
        elif (earlier.record, earlier.digest) == (one.record, one.digest):
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
        choices[one.place].update([one.choice] if one.names_a_choice else [])
    for place in sorted(choices):
        found = sorted(choices[place]) or [0]
        for choice in found:
            own = [s for s in lines[place] if not s.names_a_choice or s.choice == choice]
            yield SaidOf((*place, choice), own, len(found) > 1)
