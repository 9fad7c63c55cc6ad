"""LLMServingSim's table of requests: simulated, one row each, every token's time in ns.

`TTFT` is counted from the arrival, and `ITL` is the gap before each later token, as text. A row
says which instance finished the request, not whether another one had begun it, so of a handoff
nothing is known unless it is declared. Every row is labelled as simulated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta

from tokengap.adapters.deliveries import (
    Bools,
    Events,
    Ints,
    count_source_code,
    running_times,
)
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared import csv_rows
from tokengap.adapters.shared.cells import cast
from tokengap.adapters.shared.columns import is_true, unless
from tokengap.adapters.shared.csv_rows import Csv
from tokengap.adapters.shared.lines import COUNT_LIMIT, LineError
from tokengap.adapters.shared.list_cells import split
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Stage
from tokengap.adapters.shared.row_batches import RowBatches, Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

TIMES: Final = ("arrival", "end_time", "latency", "queuing_delay", "TTFT")
COLUMNS: Final = ("instance id", "request id", "model", "input", "output", *TIMES, "ITL")
UNSET: Final = -1

NO_TIME: Final = "whole nanoseconds below 2^62 expected"

_WHOLE: Final = r"^-?\d{1,19}$"
_JSON: Final = msgspec.json.Decoder(msgspec.Raw)
_GAPS: Final = msgspec.json.Decoder(list[Annotated[int, Meta(ge=-TIME_LIMIT_NS, le=TIME_LIMIT_NS)]])


class LlmServingSim:
    """Reads the requests of a simulation."""

    name = "llmservingsim"
    version = 1
    about = About(
        reads="LLMServingSim per-request CSV (simulated)",
        vantage="engine",
        granularity="token",
        clock="simulated ns",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="LLMServingSim @5daddb21",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Its columns."""
        return wants(head, "instance id", "request id", "queuing_delay", "TTFT", "ITL")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if a column is missing."""
        for source in sources:
            yield from _batches(source, intake)


def _batches(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    names, table, clock = Names(), Csv(source), intake.source_id(source)
    batches = RowBatches(clock, intake.trace)
    for block in table.blocks():
        for found in table.rows(block, COLUMNS, intake):
            requests = _Requests(found)
            yield batches.batch(requests.rows(clock, names))
            requests.sieve.report(source, found.place, intake)


class _Requests:
    """Some rows of the table, read as strictly as a whole number can be."""

    def __init__(self, found: csv_rows.Rows) -> None:
        self._columns = found.columns
        self._numbers = found.numbers
        self.sieve = Sieve(len(found))

    def rows(self, clock: str, names: Names) -> Rows:
        """Rows of `streams`."""
        columns = self._columns
        arrival_ns, end_ns, latency_ns, queued_ns, ttft_ns = map(self._time_ns, TIMES)
        self._refuse(pc.is_null(arrival_ns), "missing", "arrival")
        gaps = Gaps.of(columns["ITL"], self.sieve)
        prompt_tokens, output_tokens = map(self._tokens, ("input", "output"))
        scheduled_ns = self._after_ns(arrival_ns, queued_ns, "queuing_delay")
        first_ns = self._after_ns(arrival_ns, ttft_ns, "TTFT")
        last_ns = self._limited(pc.add(first_ns, gaps.sums_ns), "ITL")
        due_ns = self._after_ns(unless(pc.is_null(first_ns), arrival_ns), latency_ns, "latency")
        given = names.names(columns["request id"].to_pylist(), self._numbers, self.sieve.good)
        facts = {
            "request_id": columns["request id"] if given is None else pa.array(given, pa.string()),
            "status": pc.if_else(pc.is_null(end_ns), "in_flight", "completed"),
            "clock": clock,
            "clock_kind": "monotonic",
            "vantage": "engine",
            "model": columns["model"],
            "prompt_tokens": prompt_tokens,
            "arrival_ns": arrival_ns,
            "stream_close_ns": end_ns,
        }
        return Rows(
            self._numbers,
            self.sieve,
            facts,
            labels={
                "simulated": pa.repeat("LLMServingSim", len(self._numbers)),
                "instance": pc.fill_null(columns["instance id"], ""),
            },
            stages=[Stage("queue", arrival_ns, scheduled_ns, clock=clock)],
            unlisted=pc.is_null(scheduled_ns),
            notes={SENTINEL_DROPPED: pc.is_null(first_ns), **_sum_notes(last_ns, end_ns, due_ns)},
            delivered=gaps.events(first_ns, output_tokens),
        )

    def _whole(self, name: str) -> tuple[pa.Array, Bools]:
        """A column of whole numbers, NULL where one is none or is beyond 64 bits; where that is."""
        texts = self._columns[name]
        whole = pc.fill_null(pc.match_substring_regex(texts, _WHOLE), False)
        self._refuse(pc.invert(whole), "a whole number expected", name, texts)
        return cast(pc.if_else(whole, texts, None), pa.int64())

    def _time_ns(self, name: str) -> pa.Array:
        """A column of times; NULL for the simulator's -1."""
        values, beyond = self._whole(name)
        self.sieve.refuse(beyond, NO_TIME, name, self._columns[name])
        return self._limited(unless(pc.equal(values, UNSET), values), name)

    def _tokens(self, name: str) -> pa.Array:
        values, beyond = self._whole(name)
        counts = pc.and_(pc.greater_equal(values, 0), pc.less_equal(values, COUNT_LIMIT))
        beyond |= is_true(pc.invert(counts))
        self.sieve.refuse(beyond, "a whole number of tokens expected", name, self._columns[name])
        return pc.cast(unless(pa.array(beyond), values), pa.int32())

    def _after_ns(self, start_ns: pa.Array, lasted_ns: pa.Array, name: str) -> pa.Array:
        return self._limited(pc.add(start_ns, lasted_ns), name)

    def _limited(self, times_ns: pa.Array, name: str) -> pa.Array:
        beyond = pc.greater(pc.abs(times_ns), TIME_LIMIT_NS)
        self._refuse(beyond, NO_TIME, name, times_ns)
        return unless(beyond, times_ns)

    def _refuse(
        self, where: pa.Array, reason: str, name: str, column: pa.Array | None = None
    ) -> None:
        self.sieve.refuse(is_true(where), reason, name, column)


@dataclass(frozen=True)
class Gaps:
    """Gaps of all rows end to end; row r has `sizes[r]`, none where it is refused."""

    all_ns: Ints
    sizes: Ints

    @classmethod
    def of(cls, texts: pa.Array, sieve: Sieve) -> "Gaps":
        """From lists as JSON; refuses rows with anything else."""
        texts = pc.fill_null(texts, "")
        found = cls._together(texts)
        if found is not None and found.are_short:
            return found
        listed = [_gaps_ns(text, row, sieve) for row, text in enumerate(texts.to_pylist())]
        sizes = np.fromiter(map(len, listed), np.int64, len(listed))
        return cls(np.concatenate(listed), sizes)

    @classmethod
    def _together(cls, texts: pa.Array) -> "Gaps | None":
        """Of lists as Python writes them; None if one is not sure to be such."""
        if not pc.all(pc.and_(pc.starts_with(texts, "["), pc.ends_with(texts, "]"))).as_py():
            return None
        try:
            _JSON.decode("[" + ",".join(texts.to_pylist()) + "]")
            lists = split(pc.utf8_slice_codeunits(texts, 1, -1), ", ")
            all_ns = pc.cast(lists.flatten(), pa.int64()).to_numpy()  # reads 01, which is no JSON
        except (msgspec.MsgspecError, RecursionError, pa.ArrowInvalid):
            return None
        return cls(all_ns, pc.list_value_length(lists).to_numpy().astype(np.int64))

    @property
    def are_short(self) -> bool:
        """Whether those of no row add up to more than `TIME_LIMIT_NS`."""
        longest_ns = float(np.abs(self.all_ns).max(initial=0)) * int(self.sizes.max(initial=0))
        return longest_ns <= TIME_LIMIT_NS

    @property
    def offsets(self) -> Ints:
        """Where each row's begin."""
        return np.concatenate(([0], np.cumsum(self.sizes, dtype=np.int64)))

    @property
    def sums_ns(self) -> pa.Array:
        """What each row's add up to."""
        running = np.concatenate(([0], np.cumsum(self.all_ns)))
        return pa.array(np.diff(running[self.offsets]))

    def events(self, first_ns: pa.Array, tokens: pa.Array) -> Events:
        """Tokens, of which a row has none whose first token's time is NULL."""
        begun = pc.is_valid(first_ns).to_numpy(zero_copy_only=False)
        sizes, rows = self.sizes[begun], len(begun)
        gaps_ns = self.all_ns if begun.all() else self.all_ns[np.repeat(begun, self.sizes)]
        times_ns = running_times(first_ns.drop_null().to_numpy(), gaps_ns, sizes)
        events = np.where(begun, self.sizes + 1, 0)
        return Events(
            offsets=np.concatenate(([0], np.cumsum(events))),
            times_ns=times_ns,
            counts=np.zeros(len(times_ns), np.int64),
            counts_source=np.full(rows, count_source_code("events")),
            totals=pc.fill_null(pc.cast(tokens, pa.int64()), -1).to_numpy(),
            totals_source=np.full(rows, count_source_code("usage")),
            observed=begun,
            streamed=np.ones(rows, bool),
        )


def _gaps_ns(text: str, row: int, sieve: Sieve) -> Ints:
    try:
        gaps_ns = np.array(_GAPS.decode(text), np.int64)
    except msgspec.MsgspecError as error:
        reason = f"ITL: a list of whole nanoseconds expected ({error})"
        sieve.refuse_one(row, LineError(reason, "ITL"))
        return np.zeros(0, np.int64)
    if not float(np.abs(gaps_ns).max(initial=0)) * len(gaps_ns) <= TIME_LIMIT_NS:
        sieve.refuse_one(row, LineError("ITL: gaps add up to more than 2^62 ns", "ITL"))
        return np.zeros(0, np.int64)
    return gaps_ns


def _sum_notes(last_ns: pa.Array, *told_ns: pa.Array) -> dict[str, pa.Array]:
    """The last token is the end of the request, by both ways the row tells it."""
    others_ns = [unless(pc.equal(end_ns, last_ns), end_ns) for end_ns in told_ns]
    earliest_ns = pc.min_element_wise(*others_ns)
    return {
        "events_lost": pc.greater(earliest_ns, last_ns),
        CLOCK_CONTRADICTION: pc.less(earliest_ns, last_ns),
    }
