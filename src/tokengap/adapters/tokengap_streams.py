"""Streams of tokengap's own log, from their token events and from the lines that say more."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.late import LateRejects
from tokengap.adapters.rows import Stream, assemble, fact_arrays
from tokengap.adapters.tokengap_events import NOT_SAID
from tokengap.adapters.tokengap_facts import Facts
from tokengap.adapters.tokengap_line import Record
from tokengap.adapters.tokengap_order import OTHER_CLOCK, Key, Ordered, Place, Rows, settle
from tokengap.schema import VANTAGES


@dataclass(frozen=True, slots=True)
class Call:
    """What holds for all files read together.

    attempts: request and attempt by number; clocks: names by number, the first one for none;
    ends_logged: whether any line says how a stream ended.
    """

    trace: str
    source_ids: Sequence[str]
    attempts: Sequence[tuple[str, int]]
    clocks: Sequence[str | None]
    ends_logged: bool
    late: LateRejects


@dataclass(slots=True)
class Said:
    """A line that says more than that a token came. `digest`: the times of a whole stream."""

    group: int
    line: int
    digest: bytes | None
    record: Record
    vantage: int

    @property
    def place(self) -> Place:
        """Where the line's clock rules."""
        return self.group, self.vantage

    @property
    def names_a_choice(self) -> bool:
        """Whether the line is about one choice of its attempt, not about all of them."""
        return self.record.choice is not None or self.record.carries_tokens

    def speaks_of(self, choice: int) -> bool:
        """Whether the line belongs to that choice of its attempt."""
        return not self.names_a_choice or (self.record.choice or 0) == choice


def streams_batch(tokens: pa.Table, facts: pa.Table, call: Call) -> pa.RecordBatch:
    """The streams of some attempts, from all their sorted token events and all their facts."""
    rows = Rows.of(tokens)
    said = _on_one_vantage(_decoded(facts), rows, call.late)
    clocks = rows.named_clocks()
    said = _on_one_clock(said, clocks, call)
    said, whole, repeated = _each_whole_once(said, call.late)
    ordered = settle(rows, whole, clocks, call.late)
    keyed = _by_stream(said, ordered, call.late)
    runs = {key: run for run, key in enumerate(ordered.rows.streams())}
    choices = Counter(key[:2] for key, _ in keyed)
    batch = _Batch(call, ordered, runs, clocks, repeated, choices)
    found = [batch.stream(key, lines) for key, lines in keyed]
    streams, observed = [stream for stream, _ in found], [seen for _, seen in found]
    sizes = ordered.rows.sizes().tolist()
    tokens_each = [sizes[runs[key]] if key in runs else 0 for key, _ in keyed]
    events = _events(ordered.rows, tokens_each, streams, observed)
    return assemble(fact_arrays(streams, call.trace), events, [s.quality for s in streams])


def _decoded(facts: pa.Table) -> list[Said]:
    columns = (facts.column(n).to_pylist() for n in ("group", "line", "digest", "record"))
    decoder = msgspec.msgpack.Decoder(Record)
    return [
        Said(group, line, digest, record := decoder.decode(data), _vantage(record))
        for group, line, digest, data in zip(*columns, strict=True)
    ]


def _vantage(record: Record) -> int:
    return NOT_SAID if record.vantage is None else VANTAGES.index(record.vantage)


def _on_one_vantage(said: list[Said], rows: Rows, late: LateRejects) -> list[Said]:
    """A line with neither tokens nor vantage belongs to the only vantage of its attempt."""
    with_tokens, named = defaultdict(set), defaultdict(set)
    for group, vantage, _ in rows.streams():
        with_tokens[group].add(vantage)
    for one in said:
        if one.record.carries_tokens:
            with_tokens[one.group].add(one.vantage)
        elif one.vantage != NOT_SAID:
            named[one.group].add(one.vantage)
    kept = []
    for one in said:
        found = with_tokens[one.group] or named[one.group]
        if one.vantage == NOT_SAID and found and NOT_SAID not in found:
            if len(found) > 1:
                where = " and ".join(VANTAGES[vantage] for vantage in sorted(found))
                reason = f"vantage: missing, and the attempt is logged at {where}"
                late.refuse(one.line, reason, "vantage")
                continue
            one.vantage = next(iter(found))
        kept.append(one)
    return kept


def _on_one_clock(said: list[Said], clocks: dict[Place, int], call: Call) -> list[Said]:
    """Without lines whose times are on another clock than their attempt's; completes `clocks`."""
    number = {name: i for i, name in enumerate(call.clocks)}
    kept = []
    for one in said:
        clock = number[one.record.clock]
        if clock and clocks.setdefault(one.place, clock) != clock:
            call.late.refuse(one.line, OTHER_CLOCK, "clock")
        else:
            kept.append(one)
    return kept


def _each_whole_once(
    said: list[Said], late: LateRejects
) -> tuple[list[Said], dict[Key, int], set[Key]]:
    """Of the lines for one whole stream the first; its line, and which streams had it again."""
    first: dict[Key, Said] = {}
    kept, repeated = [], set()
    for one in said:
        key = (*one.place, one.record.choice or 0)
        if not one.record.is_stream or first.setdefault(key, one) is one:
            kept.append(one)
        elif (first[key].record, first[key].digest) == (one.record, one.digest):
            repeated.add(key)
        else:
            earlier = late.place(first[key].line)
            late.refuse(
                one.line, f"times_ns: conflicts with the same stream at {earlier}", "times_ns"
            )
    return kept, {key: one.line for key, one in first.items()}, repeated


def _by_stream(
    said: Iterable[Said], ordered: Ordered, late: LateRejects
) -> list[tuple[Key, list[Said]]]:
    """Every stream in order, with the lines that speak of it."""
    by_place: dict[Place, list[Said]] = defaultdict(list)
    for one in said:
        if one.line not in late:
            by_place[one.place].append(one)
    choices: dict[Place, set[int]] = defaultdict(set)
    for group, vantage, choice in ordered.rows.streams():
        choices[group, vantage].add(choice)
    for place, lines in by_place.items():
        named = (one.record for one in lines if one.names_a_choice)
        choices[place].update(record.choice or 0 for record in named)
        if not choices[place]:
            choices[place] = {0}
    return [
        ((*place, choice), [one for one in by_place[place] if one.speaks_of(choice)])
        for place in sorted(choices)
        for choice in sorted(choices[place])
    ]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Streams of one batch in the making; `runs` holds each stream's place in `ordered`."""

    call: Call
    ordered: Ordered
    runs: Mapping[Key, int]
    clocks: Mapping[Place, int]
    repeated: set[Key]
    choices: Mapping[Place, int]

    def stream(self, key: Key, said: Sequence[Said]) -> tuple[Stream, bool]:
        """The stream without its tokens, and whether its deliveries are known."""
        run = self.runs.get(key, -1)
        facts = Facts()
        for one in said:
            shared = not one.names_a_choice and self.choices[key[:2]] > 1
            facts.add(one.record, of_all_choices=shared)
        lines = [one.line for one in said]
        if run >= 0:
            lines += [int(self.ordered.first_line[run]), int(self.ordered.last_line[run])]
            facts.notes.update(self._notes(run))
            if self.ordered.answer_at[run] >= 0:
                answer = self.ordered.rows.t_ns[self.ordered.answer_at[run]]
                facts.state("first_answer_ns", int(answer))
        if key in self.repeated:
            facts.notes.add("duplicate_dropped")
        source, line = self.call.late.locate(min(lines))
        named = self.call.clocks[self.clocks.get(key[:2], 0)]
        if named is None and self.call.late.locate(max(lines))[0] != source:
            facts.notes.add("clock_assumed")
        source_id = self.call.source_ids[source]
        columns = facts.columns(
            clock=named or source_id, delivered=run >= 0, ends_logged=self.call.ends_logged
        )
        request_id, attempt = self.call.attempts[key[0]]
        stream = Stream(
            request_id=request_id, attempt=attempt, choice=key[2],
            vantage=None if key[1] == NOT_SAID else VANTAGES[key[1]],
            source=f"{source_id}:{line}", quality=sorted(facts.notes), **columns,
        )  # fmt: skip
        return stream, facts.observed

    def _notes(self, run: int) -> Iterator[str]:
        if self.ordered.repeated[run]:
            yield "duplicate_dropped"
        if self.ordered.unindexed[run]:
            yield "order_assumed"


def _events(
    rows: Rows, sizes: Sequence[int], streams: Sequence[Stream], observed: Sequence[bool]
) -> Events:
    n = len(streams)
    totals = [-1 if s.total_tokens is None else s.total_tokens for s in streams]
    return Events(
        offsets=np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        times_ns=rows.t_ns,
        counts=rows.tokens.astype(np.int64),
        counts_source=np.full(n, count_source_code("events")),
        totals=np.array(totals, np.int64),
        totals_source=np.array([count_source_code(s.total_source) for s in streams], np.int64),
        observed=np.array(observed, bool),
        streamed=np.array([s.streamed for s in streams], bool),
    )
