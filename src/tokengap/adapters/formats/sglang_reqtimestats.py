"""SGLang's `ReqTimeStats(...)` log lines (`--enable-request-time-stats-logging`), in a server log.

The scheduler writes one when a request is done: how long each step lasted, and when the first one
began. Lines may have any prefix. The other lines of a server log are no records of requests: they
are passed over and not counted.

The steps follow each other from `entry_time` on, which has only milliseconds; the durations have
10 us, and so have all differences. Placed are the steps up to the first whose length the line does
not tell: newer prefill servers leave out the wait for memory, and of a prefill that was tried again
only the last try is shown. `forward_duration` runs from the engine's first step to the request's
end and is no stage: on a prefill server the KV transfer is in it. So no line tells when the first
token came. SGLang writes 0.00 ms for a step one of whose ends was never stamped, and older versions
write 55 years: both are dropped.

A request that two servers share has a line in either log: two halves, joined by `bootstrap_room`.
The decode server's `transfer_duration` begins when it has room for the KV cache, most often before
the prefill is done: what is left of that is in it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff
from tokengap.adapters.rows import Stream, record_batches, reported, stage
from tokengap.adapters.shared.lines import LineError, tokens
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.seconds import NS_PER_S, ms_ns, seconds_ns
from tokengap.adapters.shared.sglang import DECODE, PREFILL, sglang_ids
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED, after_ns
from tokengap.adapters.source import Line, Source

EPOCH_NS: Final = 1_000_000_000 * NS_PER_S
"""A stamp from 2001 on is wall time; some versions log seconds since boot instead."""
SENTINEL_MS: Final = 1_000_000_000 * 1_000
"""A duration of 30 years was counted from a stamp that was never set."""
PARTS: Final = ("bootstrap_duration", "alloc_wait_duration")
"""What the first step of a half is made of; newer lines have these in its stead."""
BYTES_PER_MB: Final = 1 << 20
"""SGLang divides by 1024 twice and calls it MB."""
UNIFIED: Final = "unified"
FORWARD_FORMULA: Final = "sglang: first step of the engine to the end of the request"

STEPS: Final = {
    UNIFIED: (("queue", "queue_duration"),),
    PREFILL: (("kv_bootstrap", "bootstrap_queue_duration"), ("queue", "queue_duration")),
    DECODE: (
        ("kv_bootstrap", "prealloc_queue_duration"),
        ("kv_transfer", "transfer_duration"),
        ("decode_queue", "queue_duration"),
    ),
}
"""Stages of each kind of server in their order, and what SGLang calls their length."""

_MARK: Final = re.compile(rb"Req ?Time ?Stats\(rid=")
_SWITCHED_ON: Final = b"enable_request_time_stats_logging=True"
_LINE: Final = re.compile(
    r"Req ?Time ?Stats\(rid=(?P<rid>.*?)(?:, bootstrap_room=(?P<room>-?\d{1,19}))?"
    r", input[_ ]len=(?P<input>\d{1,19})(?:, cached_input_len=(?P<cached>\d{1,19}))?"
    r", output[_ ]len=(?P<output>\d{1,19})(?:, attempts=(?P<attempts>\d{1,19}))?"
    r", type=(?P<kind>\w+)\): (?P<steps>.*)"
)
_VALUE: Final = re.compile(r"(\w+)[=(](-?\d+(?:\.\d+)?)")
_OLDER: Final = {
    "bootstrap": "bootstrap_duration",
    "alloc_wait": "alloc_wait_duration",
    "start": "entry_time",
    "start_time": "entry_time",
}


class SglangReqTimeStats:
    """Reads the request time stats in SGLang's server logs."""

    name = "sglang-reqtimestats"
    version = 1
    about = About(
        reads="SGLang server log with ReqTimeStats lines",
        vantage="engine",
        granularity="aggregate",
        clock="wall s (some versions: monotonic), durations in ms",
        ttft="no",
        worst_gap="no",
        handoff="transfer, decode_wait",
        checked=f"{FROM_DOCUMENTATION} (SGLang 0.5.23)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Such a line among the first, or the server's arguments with these lines switched on."""
        found = _MARK.search(head.data) or _SWITCHED_ON in head.data
        wanted = ("a line with ReqTimeStats(rid=...)",)
        return Sniff(wanted, () if found else wanted)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per line of that kind."""
        for source in sources:
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    names, source_id = Names(), intake.source_id(source)
    for line in _marked(source):
        try:
            stream = _request(line.data.decode("utf-8", "replace"), Place(source_id, line), names)
        except LineError as error:
            intake.reject(source, line, error.reason, error.field, error.value)
        else:
            yield stream


def _marked(source: Source) -> Iterator[Line]:
    for block in source.blocks():
        if _MARK.search(block.data):
            yield from (line for line in block.lines() if _MARK.search(line.data))


@dataclass(frozen=True)
class Stats:
    """What one line says: its head as text, and the values behind it by their newest names.

    values: ms, and s for the entry time, without those that were never measured. dropped: whether
    there were any.
    """

    kind: str
    head: dict[str, str | None]
    values: dict[str, float]
    dropped: bool

    def count(self, name: str) -> int | None:
        """Return a number of tokens from the head."""
        text = self.head[name]
        return None if text is None else tokens(int(text), f"{name}_len")

    @property
    def entry_ns(self) -> int | None:
        """When the first step began."""
        entry_s = self.values.get("entry_time")
        return None if entry_s is None else seconds_ns(entry_s, "entry_time")

    def lasted_ns(self, *names: str) -> int | None:
        """Length of a step, or of those of its parts that the line tells."""
        known = [ms_ns(self.values[name], name) for name in names if name in self.values]
        return sum(known) if known else None


def _parse(text: str) -> Stats:
    parts = _LINE.search(text)
    if parts is None:
        raise LineError("a ReqTimeStats line of an unknown form")
    if parts["kind"] not in STEPS:
        raise LineError(f"type: {', '.join(STEPS)} expected", "type", parts["kind"])
    logged: dict[str, float] = {}
    for written, value in _VALUE.findall(parts["steps"]):
        name = _OLDER.get(written, written)
        if name in logged:
            raise LineError(f'"{written}" appears twice', written)
        logged[name] = float(value)
    values = {name: value for name, value in logged.items() if _is_measured(name, value)}
    return Stats(parts["kind"], parts.groupdict(), values, len(values) < len(logged))


def _is_measured(name: str, value: float) -> bool:
    """Tell a value from what stands for none. The parts of a step are only written if measured."""
    return abs(value) < SENTINEL_MS and (value != 0 or name in (*PARTS, "retries"))


def _request(text: str, place: Place, names: Names) -> Stream:
    stats = _parse(text)
    half = None if stats.kind == UNIFIED else stats.kind
    rid, room = stats.head["rid"] or "", stats.head["room"]
    total = stats.count("output")
    stream = Stream(
        request_id=names.name(f"{rid}.{half}" if half else rid, place.number),
        source=place.text,
        status="completed",
        vantage="engine",
        ids=sglang_ids(rid, None if room is None else int(room), half),
        labels=_labels(stats),
        total_tokens=total,
        total_source="usage",
        prompt_tokens=stats.count("input"),
        cached_prompt_tokens=stats.count("cached"),
        handoff_source="log" if half else "none",
        last_prefill_token={PREFILL: 1, DECODE: 0}.get(stats.kind),
        prefill_worker=None if half == DECODE else place.source_id,
        decode_worker=None if half == PREFILL else place.source_id,
        kv_bytes=round(stats.values.get("transfer_total", 0) * BYTES_PER_MB) or None,
        quality=["end_not_seen"],
    )
    _fill_times(stream, stats, place.source_id)
    return stream


def _labels(stats: Stats) -> dict[str, str]:
    speed, attempts = stats.values.get("transfer_speed"), int(stats.head["attempts"] or 0)
    found = {"transfer_speed": speed and f"{speed} GB/s", "attempts": attempts and str(attempts)}
    return {name: text for name, text in found.items() if text}


def _fill_times(stream: Stream, stats: Stats, source_id: str) -> None:
    """Lay the steps one after another, as far as their lengths are known."""
    entry_ns = stats.entry_ns
    if entry_ns is not None:
        wall = entry_ns >= EPOCH_NS
        stream.clock = source_id if wall else f"{source_id}:monotonic"
        stream.clock_kind = "wall" if wall else "monotonic"
    stream.arrival_ns = entry_ns
    stream.stages, at_ns = _stages(stats, stream.clock)
    forward_ns = stats.lasted_ns("forward_duration")
    if forward_ns is not None:
        stream.reported = [reported("forward", forward_ns, FORWARD_FORMULA)]
        stream.stream_close_ns = after_ns(at_ns, forward_ns, "forward_duration")
    stream.last_token_ns = None if stats.kind == PREFILL else stream.stream_close_ns
    if stats.dropped:
        stream.quality.append(SENTINEL_DROPPED)
    if min(stats.values.values(), default=0) < 0:
        stream.quality.append(CLOCK_CONTRADICTION)


def _stages(stats: Stats, clock: str | None) -> tuple[list[dict[str, object]], int | None]:
    """Return the steps, and when the last of them ended; None if that is not known."""
    at_ns = None if int(stats.head["attempts"] or 0) else stats.entry_ns
    stages = []
    # A step from an entry that was never stamped has no length, whatever the line says.
    for name, lasted in STEPS[stats.kind] if "entry_time" in stats.values else ():
        lasted_ns, whole = stats.lasted_ns(lasted), True
        if name == "kv_bootstrap" and lasted not in stats.values:
            lasted_ns, whole = stats.lasted_ns(*PARTS), all(map(stats.values.__contains__, PARTS))
        end_ns = after_ns(at_ns, lasted_ns, lasted)
        if end_ns is not None:
            stages.append(stage(name, at_ns, end_ns, clock=clock))
        elif lasted_ns is not None:
            stages.append(stage(name, duration_ns=lasted_ns))
        at_ns = end_ns if whole else None
    return stages, at_ns
