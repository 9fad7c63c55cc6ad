"""Streams of tokengap's own log, from their token events and from the lines that say more."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.formats.tokengap.events import NOT_SAID
from tokengap.adapters.formats.tokengap.facts import Facts
from tokengap.adapters.formats.tokengap.late import LateRejects
from tokengap.adapters.formats.tokengap.order import NO_TOKENS, Place, Rows, Run, settle
from tokengap.adapters.formats.tokengap.said import (
    SaidOf,
    all_said,
    by_stream,
    each_whole_once,
    on_one_clock,
    on_one_vantage,
)
from tokengap.adapters.rows import Stream, assemble, fact_arrays, notes_of
from tokengap.schema import VANTAGES


@dataclass(frozen=True, slots=True)
class Call:
    """What holds for all files read together.

    attempts: request and attempt by number; clocks: numbers by name, 0 for none; ends_logged:
    whether any line says how a stream ended.
    """

    trace: str
    source_ids: Sequence[str]
    attempts: Sequence[tuple[str, int]]
    clocks: dict[str | None, int]
    ends_logged: bool
    late: LateRejects


def streams_batch(call: Call, tables: tuple[pa.Table, pa.Table, pa.Table]) -> pa.RecordBatch:
    """The streams of some attempts, from all their token events, their marks and their facts.

    The token events are sorted by attempt and `tokengap_order.ORDER`.
    """
    tokens, marks, facts = tables
    rows = Rows.of(tokens)
    clocks = rows.named_clocks()
    said = all_said(marks, facts, call.clocks)
    placed = on_one_vantage(said, rows.streams, call.late)
    kept, whole = each_whole_once(on_one_clock(placed, clocks, call.late), call.late)
    rows, runs = settle(rows, whole, clocks, call.late)
    good = (one for one in kept if one.line not in call.late)
    maker = _Maker(call, clocks, {number: name for name, number in call.clocks.items()})
    made = [maker.stream(about, runs.get(about.key, NO_TOKENS)) for about in by_stream(good, runs)]
    streams = [stream for stream, _, _ in made]
    events = _events(rows, streams, [seen for _, seen, _ in made], [size for _, _, size in made])
    return assemble(fact_arrays(streams, call.trace), events, notes_of(streams))


@dataclass(frozen=True, slots=True)
class _Maker:
    call: Call
    clocks: Mapping[Place, int]
    clock_names: Mapping[int, str | None]

    def stream(self, about: SaidOf, run: Run) -> tuple[Stream, bool, int]:
        """The stream without its tokens, whether its deliveries are known, and its events."""
        facts = _facts(about, run)
        clock, source = self._clock_and_source(about, run, facts)
        columns = facts.columns(
            clock=clock, delivered=run.events > 0, ends_logged=self.call.ends_logged
        )
        group, vantage, choice = about.key
        request_id, attempt = self.call.attempts[group]
        stream = Stream(
            request_id=request_id, attempt=attempt, choice=choice, source=source,
            vantage=None if vantage == NOT_SAID else VANTAGES[vantage],
            quality=sorted(facts.notes), **columns,
        )  # fmt: skip
        return stream, facts.observed, run.events

    def _clock_and_source(self, about: SaidOf, run: Run, facts: Facts) -> tuple[str, str]:
        lines = [one.line for one in about.lines] + ([*run.lines] if run.events else [])
        source, line = self.call.late.locate(min(lines))
        clock = self.clock_names[self.clocks.get(about.key[:2], 0)]
        if clock is None and self.call.late.locate(max(lines))[0] != source:
            facts.notes.add("clock_assumed")
        source_id = self.call.source_ids[source]
        return clock or source_id, f"{source_id}:{line}"


def _facts(about: SaidOf, run: Run) -> Facts:
    facts = Facts()
    for one in about.lines:
        facts.add(one, of_all_choices=about.one_of_several and one.choice is None)
    facts.state("first_answer_ns", run.first_answer_ns)
    if run.repeated or any(one.repeated for one in about.lines):
        facts.notes.add("duplicate_dropped")
    if run.unindexed and run.events > 1:
        facts.notes.add("order_assumed")
    return facts


def _events(
    rows: Rows, streams: Sequence[Stream], observed: Sequence[bool], sizes: Sequence[int]
) -> Events:
    totals = [-1 if s.total_tokens is None else s.total_tokens for s in streams]
    return Events(
        offsets=np.cumsum([0, *sizes], dtype=np.int64),
        times_ns=rows.t_ns,
        counts=rows.tokens.astype(np.int64),
        counts_source=np.full(len(streams), count_source_code("events")),
        totals=np.array(totals, np.int64),
        totals_source=np.array([count_source_code(s.total_source) for s in streams], np.int64),
        observed=np.array(observed, bool),
        streamed=np.array([s.streamed for s in streams], bool),
    )
