"""The generated requests as logs of tokengap's own format, and the store that they are loaded into.

Every day has a log, loaded in the night after it. The late one is ingested five days after its day,
when the store already holds the others up to the Sunday of its week.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final
from unittest import mock

import msgspec

from tests.weekly.generated import LATE, LATE_BY, LATE_DAY, MS, Answer, Request
from tokengap.store.copies import copied
from tokengap.store.discover import discover
from tokengap.store.ingest import ingest
from tokengap.store.load import load_set, source_sets
from tokengap.store.records import Part
from tokengap.store.tables import prepare_store

SLO_FILE: Final = Path(__file__).parent / "slo.toml"
LATE_LOG: Final = f"late-{LATE_DAY}.jsonl"
BAD_LINE: Final = b'{"request_id":"cut off","t_n'
"""Ends the last log: it is put aside, and counts nowhere."""

_NIGHT: Final = time(2)
_ORIGINS: Final = {"client": "sent_ns", "gateway": "received_ns"}


def store_of(requests: Iterable[Request], folder: Path) -> str:
    """Write the logs of these requests and load them; the path of the store."""
    logs, scratch, store = folder / "logs", folder / "loading", str(folder / "store")
    scratch.mkdir(parents=True)
    write_logs(requests, logs)
    days = {date.fromisoformat(log.stem): log for log in logs.iterdir() if log.name != LATE_LOG}
    load_each_night([log for day, log in days.items() if day < LATE.after], store, scratch)
    if (late := logs / LATE_LOG).exists():
        with loaded_on(LATE_DAY + LATE_BY):
            ingest([str(late)], store, scratch)
    load_each_night([log for day, log in days.items() if day >= LATE.after], store, scratch)
    return store


def load_each_night(logs: Sequence[Path], store: str, scratch: Path) -> None:
    """Bring logs into the store as if each of their days had been loaded in the night after it.

    They are read at once, for it takes a sixth of the time, and are one load.
    """
    for files in source_sets(discover(sorted(map(str, logs)), scratch).files):
        load = load_set(files, scratch, by_day=True)
        parts = tuple(_of_the_night(part, scratch) for part in load.parts)
        prepare_store(store).commit([replace(load, parts=parts)], scratch)


def _of_the_night(part: Part, scratch: Path) -> Part:
    day = date.fromisoformat(str(part.day))
    (part,) = copied([replace(part, loaded_ns=_night_ns(day + timedelta(1)))], scratch)
    return part


@contextmanager
def loaded_on(day: date) -> Iterator[None]:
    """What is loaded in the block is loaded in the night to that day."""
    with mock.patch("tokengap.store.parts.now_ns", return_value=_night_ns(day)):
        yield


def _night_ns(day: date) -> int:
    return int(datetime.combine(day, _NIGHT, UTC).timestamp()) * 10**9


def write_logs(requests: Iterable[Request], folder: Path) -> None:
    """Write a log for each day; what comes late is in one of its own."""
    folder.mkdir(parents=True)
    lines: dict[str, list[bytes]] = defaultdict(list)
    for request in requests:
        log = LATE_LOG if request.is_late else f"{request.sent.date()}.jsonl"
        lines[log] += map(msgspec.json.encode, records(request))
    lines[max(lines.keys() - {LATE_LOG})].append(BAD_LINE)
    for log, of_log in lines.items():
        (folder / log).write_bytes(b"\n".join(of_log) + b"\n")


def records(request: Request) -> Iterator[dict[str, Any]]:
    """A line for each answer of each attempt, wherever it was seen."""
    retried = request.first_sent_ns < request.sent_ns
    for vantage in request.vantages:
        if retried:
            refused = Answer("rejected", (), 0, request.first_sent_ns + 5 * MS)
            yield _record(request, vantage, request.first_sent_ns, refused)
        for choice, answer in enumerate(request.answers):
            place = {"attempt": int(retried), "choice": choice}
            yield _record(request, vantage, request.sent_ns, answer) | place


def _record(request: Request, vantage: str, sent_ns: int, answer: Answer) -> dict[str, Any]:
    # A gateway behind the client has a request 1 ms later, and a token 1 ms earlier.
    inner_ns = MS if vantage != request.vantages[0] else 0
    k = request.last_prefill_token
    handoff = {"handoff_source": "none"} if k is None else {"last_prefill_token": k}
    return {
        "request_id": request.name, "attempt": 0, "choice": 0, "vantage": vantage,
        "clock": f"{vantage}-host", "clock_kind": "wall", _ORIGINS[vantage]: sent_ns + inner_ns,
        "times_ns": [at - inner_ns for at in answer.times_ns],
        "stream_close_ns": answer.close_ns, "status": answer.status,
        "streamed": not answer.is_body, "prompt_tokens": request.prompt_tokens,
        "output_tokens": answer.output_tokens, **request.facts, **handoff,
    }  # fmt: skip
