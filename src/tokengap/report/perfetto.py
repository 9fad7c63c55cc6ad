"""A timeline as Chrome's JSON trace events, which ui.perfetto.dev and chrome://tracing open.

Times are microseconds with three decimals: whole ns from the zero of each clock, so that no digit
is lost to floating point.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from tokengap import __version__
from tokengap.report.timeline import Slice, Timeline, Track

_ABOUT: Final = "about this timeline"
_US: Final = 1000  # ns
Event = dict[str, Any]


def perfetto(timeline: Timeline) -> str:
    """The trace as one JSON object, an event per line."""
    tracks = [Track("tokengap", _ABOUT, _about(timeline)), *timeline.tracks]
    lines = ",\n".join(_json(event) for event in _events(tracks))
    facts = _json({"tokengap": __version__, "says": " ".join(timeline.says)})
    return f'{{"displayTimeUnit":"ms","otherData":{facts},"traceEvents":[\n{lines}\n]}}\n'


def _about(timeline: Timeline) -> list[Slice]:
    """What is shown, written above the whole of it."""
    ends = (s.start_ns + s.duration_ns for track in timeline.tracks for s in track.slices)
    end_ns = max(ends, default=_US)
    return [Slice(line, "about", 0, end_ns, {}) for line in timeline.says]


def _events(tracks: list[Track]) -> Iterator[Event]:
    """Processes in the order of their first track; ids that no two of anything share."""
    processes = {name: pid for pid, name in enumerate(dict.fromkeys(t.process for t in tracks), 1)}
    for name, pid in processes.items():
        yield _named("process_name", pid, pid, name=name)
        yield _named("process_sort_index", pid, pid, sort_index=pid)
    for tid, track in enumerate(tracks, len(processes) + 1):
        pid = processes[track.process]
        yield _named("thread_name", pid, tid, name=track.name)
        yield _named("thread_sort_index", pid, tid, sort_index=tid)
        for each in track.slices:
            yield _event(each, pid, tid)


def _named(what: str, pid: int, tid: int, **told: Any) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": told}


def _event(each: Slice, pid: int, tid: int) -> Event:
    event = {"name": each.name, "cat": each.kind, "pid": pid, "tid": tid}
    start, lasted = each.start_ns / _US, each.duration_ns / _US
    if each.duration_ns:
        return event | {"ph": "X", "ts": start, "dur": lasted, "args": each.told}
    return event | {"ph": "i", "s": "t", "ts": start, "args": each.told}


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
