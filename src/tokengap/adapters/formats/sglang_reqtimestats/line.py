"""What one `ReqTimeStats(...)` line says."""

import re
from typing import Final

import msgspec

from tokengap.adapters.shared.lines import LineError, tokens
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.sglang import DECODE, PREFILL

UNIFIED: Final = "unified"
KINDS: Final = (UNIFIED, PREFILL, DECODE)
PARTS: Final = ("bootstrap_duration", "alloc_wait_duration")
"""What the first step of a half is made of; newer lines have these in its stead."""
SENTINEL_MS: Final = 1_000_000_000 * 1_000
"""A duration of 30 years was counted from a stamp that was never set."""

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


class Stats(msgspec.Struct, gc=False):
    """One request: the head of its line, and the values behind it by their newest names.

    Values are ms, the entry time s; None was never measured. attempts: None for the first one.
    dropped: whether any value stands for none. negative: whether any is below 0.
    """

    rid: str
    kind: str
    input_len: Count
    output_len: Count
    cached_len: Count | None
    room: str | None
    attempts: str | None
    dropped: bool
    negative: bool
    bootstrap_duration: float | None = None
    alloc_wait_duration: float | None = None
    bootstrap_queue_duration: float | None = None
    prealloc_queue_duration: float | None = None
    transfer_duration: float | None = None
    queue_duration: float | None = None
    forward_duration: float | None = None
    entry_time: float | None = None
    transfer_speed: float | None = None
    transfer_total: float | None = None


_VALUES: Final = frozenset(Stats.__struct_fields__[Stats.__struct_fields__.index(PARTS[0]) :])


def stats_of(text: str) -> Stats:
    """Read a line; LineError if it cannot be used."""
    found = _LINE.search(text)
    if found is None:
        raise LineError("a ReqTimeStats line of an unknown form")
    rid, room, input_len, cached_len, output_len, attempts, kind, steps = found.groups()
    if kind not in KINDS:
        raise LineError(f"type: {', '.join(KINDS)} expected", "type", kind)
    logged = _values(steps)
    measured = {name: value for name, value in logged.items() if _is_measured(name, value)}
    return Stats(
        rid,
        kind,
        output_len=tokens(int(output_len), "output_len"),
        input_len=tokens(int(input_len), "input_len"),
        cached_len=None if cached_len is None else tokens(int(cached_len), "cached_len"),
        room=None if room is None else str(int(room)),
        attempts=str(int(attempts)) if attempts and int(attempts) else None,
        dropped=len(measured) < len(logged),
        negative=min(measured.values(), default=0) < 0,
        **{name: value for name, value in measured.items() if name in _VALUES},
    )


def _values(steps: str) -> dict[str, float]:
    logged: dict[str, float] = {}
    for written, value in _VALUE.findall(steps):
        name = _OLDER.get(written, written)
        if name in logged:
            raise LineError(f'"{written}" appears twice', written)
        logged[name] = float(value)
    return logged


def _is_measured(name: str, value: float) -> bool:
    """Tell a value from what stands for none. The parts of a step are only written if measured."""
    return abs(value) < SENTINEL_MS and (value != 0 or name in (*PARTS, "retries"))
