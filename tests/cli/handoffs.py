"""Logs of handoffs whose size and time are known."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.handoff.worked import MS

STEP_NS = 10 * MS


def split_log(
    path: Path, handoffs: Iterable[tuple[int | None, int]], pairs: Iterable[tuple[str, str]] = ()
) -> Path:
    """A log in tokengap's own format: per handoff its bytes and the time of its transfer.

    The first gap is the transfer and one step of 10 ms; workers take turns in `pairs`.
    """
    workers = list(pairs) or [("p0", "d0")]
    with path.open("w", encoding="utf-8") as log:
        for number, (size, took_ns) in enumerate(handoffs):
            line = _line(number, size, took_ns, *workers[number % len(workers)])
            log.write(json.dumps(line) + "\n")
    return path


def _line(number: int, size: int | None, took_ns: int, prefill: str, decode: str) -> Any:
    sent_ns = number * 10**9
    first_ns = sent_ns + 100 * MS
    second_ns = first_ns + took_ns + STEP_NS
    line = {
        "request_id": f"r{number}",
        "vantage": "client",
        "sent_ns": sent_ns,
        "times_ns": [first_ns, second_ns, second_ns + STEP_NS],
        "status": "completed",
        "prompt_tokens": 128,
        "prefill_worker": prefill,
        "decode_worker": decode,
        "last_prefill_token": 1,
        "stages": [{"name": "kv_transfer", "start_ns": first_ns, "end_ns": first_ns + took_ns}],
    }
    return line if size is None else line | {"kv_bytes": size}
