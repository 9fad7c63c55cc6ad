"""Rows of one request in several logs."""

from typing import Any, Final

from tests.queries.given import Row, stream

CAME_AT: Final = {"client": "sent_ns", "gateway": "received_ns", "engine": "arrival_ns"}


def view(request_id: str, vantage: str, ids: dict[str, str], **facts: Any) -> Row:
    """What one vantage logs of a request that came at 0, on a clock that only it has."""
    place: Row = {"vantage": vantage, "trace": vantage, "clock": vantage, "sent_ns": None}
    place[CAME_AT[vantage]] = 0
    return stream(request_id, [10], **place | {"ids": ids} | facts)


def half(request_id: str, part: str, ids: dict[str, str], **facts: Any) -> Row:
    """What one of two workers logs of its half, on a clock of its own."""
    k = int(part == "prefill")
    worker = {f"{part}_worker": part, "handoff_source": "log", "last_prefill_token": k}
    return view(request_id, "engine", ids, **worker | {"clock": part} | facts)
