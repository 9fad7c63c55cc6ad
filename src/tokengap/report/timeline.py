"""The worst requests and all that ran beside them, as tracks of slices that nest.

A process is a place on a clock: vantage, and worker or deployment where known. A track is one
stream there: the request with its TTFT and its gaps; on a second one what the system logged of it.
Clocks that nothing relates are different processes, each from its own zero.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tokengap.findings.audit import Row, rows
from tokengap.report.section import Subject
from tokengap.report.words import plain
from tokengap.units import format_count, format_duration

_OWN: Final = ("request", "ttft", "gap")
"""Kinds that are about the stream itself."""
_STREAM: Final = ("trace", "request_id", "attempt", "choice", "vantage")
_TOLD: Final = (
    "gap_index", "cause", "basis", "by_trace", "by_request_id", "by_prompt_tokens", "overlap_ns",
)  # fmt: skip


@dataclass(frozen=True)
class Slice:
    """A span of time; an instant where it has no length.

    start_ns: from the zero of its clock. told: what else is known of it.
    """

    name: str
    kind: str
    start_ns: int
    duration_ns: int
    told: Mapping[str, Any]


@dataclass(frozen=True)
class Track:
    """Slices that nest or follow each other, those that hold others first."""

    process: str
    name: str
    slices: Sequence[Slice]


@dataclass(frozen=True)
class Timeline:
    """Tracks in their order, and in sentences which streams they are."""

    tracks: Sequence[Track]
    says: Sequence[str]


def timeline(subject: Subject) -> Timeline:
    """The timeline of an audit; as many streams as `traced_streams` keeps."""
    streams = rows(subject.con, f"FROM traced_streams ORDER BY rank, {', '.join(_STREAM)}")
    events = rows(
        subject.con, f"FROM traced_events({subject.asked}) ORDER BY start_ns, end_ns DESC, kind"
    )
    by_stream: dict[Any, list[Row]] = defaultdict(list)
    zeros: dict[str, int] = {}
    for event in events:  # the first on each clock is its zero
        by_stream[_key(event)].append(event)
        zeros.setdefault(event["base"], event["start_ns"])
    clocks = {base: number for number, base in enumerate(zeros, 1)}
    tracks = [
        track
        for stream in streams
        for track in _tracks(stream, by_stream[_key(stream)], zeros, clocks)
    ]
    return Timeline(tracks, list(_says(streams, clocks)))


def _key(row: Row) -> Any:
    return tuple(row[name] for name in _STREAM)


def _tracks(
    stream: Row, events: Iterable[Row], zeros: Mapping[str, int], clocks: Mapping[str, int]
) -> Iterator[Track]:
    """The stream's own track, and those of what the system logged, place by place."""
    groups: dict[tuple[str, bool], list[Slice]] = defaultdict(list)
    for event in events:
        own = event["kind"] in _OWN or event["name"] == "stream" or event["kind"] == "mark"
        place = _process(stream, event, clocks)
        groups[place, own].append(_slice(stream, event, zeros[event["base"]]))
    for (place, own), slices in groups.items():
        name = _name(stream) if own else f"{_name(stream)}, stages"
        for lane in lanes(slices):
            yield Track(place, name, lane)


def _process(stream: Row, event: Row, clocks: Mapping[str, int]) -> str:
    where = event["worker"] or stream["deployment"]
    here = event["base"] == stream["base"]
    parts = [stream["vantage"] if here else "handoff and stages", *([where] if where else [])]
    if len(clocks) > 1:
        parts.append(f"clock {clocks[event['base']]} of {len(clocks)}, from its own zero")
    return plain(" · ".join(parts))


def _name(stream: Row) -> str:
    attempt = f" attempt {stream['attempt']}" if stream["attempt"] else ""
    choice = f" choice {stream['choice']}" if stream["choice"] else ""
    return plain(f"{stream['request_id']}{attempt}{choice}")


def _slice(stream: Row, event: Row, zero_ns: int) -> Slice:
    lasted = event["end_ns"] - event["start_ns"]
    told = {key: event[key] for key in _TOLD} | {"duration_ns": lasted, "clock": event["base"]}
    told |= {key: stream[key] for key in _STREAM}
    if event["kind"] == "request":
        names = ("prompt_tokens", "output_tokens", "uncertainty_ns", "is_worst")
        told |= {key: stream[key] for key in names}
    return Slice(
        plain(_label(stream, event, lasted)),
        event["kind"],
        event["start_ns"] - zero_ns,
        max(lasted, 0),
        {
            key: plain(value) if isinstance(value, str) else value
            for key, value in told.items()
            if value is not None
        },
    )


def _label(stream: Row, event: Row, lasted_ns: int) -> str:
    kind, name = event["kind"], (event["name"] or "").replace("_", " ")
    if kind == "mark":
        return name
    length = format_duration(lasted_ns)
    if lasted_ns < 0:
        length += ": ends before it starts, the clocks are skewed"
    if kind == "request":
        tokens = stream["output_tokens"]
        return name if tokens is None else f"{name}, {format_count(tokens)} tokens"
    if kind == "gap":
        return f"gap {length}{_because(event)}"
    named = {"ttft": "TTFT", "handoff": f"handoff by {name}"}.get(kind, name)
    return f"{named} {length}"


def _because(event: Row) -> str:
    if event["cause"] is None:
        return ", the longest"
    by = f" by {event['by_request_id']}" if event["by_request_id"] is not None else ""
    known = f" ({event['basis']})" if event["basis"] else ""
    return f": {event['cause'].replace('_', ' ')}{by}{known}"


def lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """The slices over tracks on each of which they nest or follow each other: first fit."""
    made: list[list[Slice]] = []
    open_ends: list[list[int]] = []  # of each track, the innermost last
    for each in sorted(slices, key=lambda s: (s.start_ns, -s.duration_ns)):
        end_ns = each.start_ns + each.duration_ns
        fitting = (n for n, ends in enumerate(open_ends) if _fits(ends, each.start_ns, end_ns))
        number = next(fitting, len(made))
        if number == len(made):
            made.append([])
            open_ends.append([])
        made[number].append(each)
        open_ends[number].append(end_ns)
    return made


def _fits(ends: list[int], start_ns: int, end_ns: int) -> bool:
    while ends and ends[-1] <= start_ns:
        ends.pop()
    return not ends or end_ns <= ends[-1]


def _says(streams: Sequence[Row], clocks: Mapping[str, int]) -> Iterator[str]:
    judged = [stream for stream in streams if stream["is_judged"]]
    if not judged:
        yield "No stream has times of its own, so there is nothing to show."
        return
    worst = sum(stream["is_worst"] for stream in judged)
    beside = format_count(len(judged) - worst)
    yield (
        f"{format_count(len(judged))} of {format_count(judged[0]['all_streams'])} streams: the "
        f"{format_count(worst)} with the longest worst gap, and {beside} of "
        f"{format_count(judged[0]['beside_streams'])} that ran beside them."
    )
    if further := len(streams) - len(judged):
        yield f"{format_count(further)} views of the same requests from further in."
    if len(clocks) > 1:
        yield (
            f"{format_count(len(clocks))} clocks that nothing relates: each starts at its own "
            "zero, and times of two of them cannot be compared. --clock and --same-clock relate "
            "clocks."
        )
