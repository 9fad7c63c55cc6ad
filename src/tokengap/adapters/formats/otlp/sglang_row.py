"""A row of one SGLang request."""

from typing import Final

from tokengap.adapters.formats.otlp.sglang_work import STAGES, Work, role_of
from tokengap.adapters.formats.otlp.shelf import Piece
from tokengap.adapters.rows import Stream, reported, stage
from tokengap.adapters.shared.outcomes import status_of_http
from tokengap.adapters.shared.sglang import PREFILL, sglang_ids

_MARKS: Final = {"retract": "preempted", "schedule": "scheduled"}


def request_id_of(root: Piece) -> str:
    """Name the row: a router may send one id to both servers, and both halves are rows."""
    role, rid = role_of(root), str(root.facts["rid"])
    return f"{rid}.{role}" if role else rid


def row_of(work: Work, clock: str) -> Stream:
    """Make the row; trace, request id, attempt and source are the caller's to add."""
    root, facts = work.root, work.root.facts
    row = Stream(
        request_id="",
        source="",
        status="completed",
        vantage="engine",
        clock=clock,
        clock_kind="wall",
        step=True,
        ids=_ids(work),
        model=facts["model"],
        finish_reason=facts["finish_reason"],
        prompt_tokens=facts["prompt_tokens"],
        cached_prompt_tokens=facts["cached_tokens"],
        total_tokens=facts["tokens"],
        total_source=None if facts["tokens"] is None else "usage",
        arrival_ns=root.start_ns if work.one_host else None,
        stream_close_ns=root.end_ns if work.one_host else None,
        reported=_reported(work),
        stages=_stages(work, clock),
        marks=_marks(work),
        quality=[*facts["quality"], *(["duplicate_dropped"] if work.copies else [])],
    )
    _judge(row, work)
    _fill_deliveries(row, work)
    _split(row, work, clock)
    return row


def _ids(work: Work) -> dict[str, str]:
    facts = work.root.facts
    ids = sglang_ids(facts["rid"], facts["bootstrap_room"], work.role)
    return ids | {"trace_id": work.root.trace_id}


def _reported(work: Work) -> list[dict[str, object]]:
    """What the API server measured; a prefill server has no first token before its end."""
    facts = work.root.facts
    found = [
        ("ttft", None if work.role == PREFILL else facts["first_ns"], "first output - created"),
        ("e2e", facts["e2e_ns"], "finished - created"),
    ]
    return [
        reported(metric, value_ns, f"sglang: {formula}, at the API server")
        for metric, value_ns, formula in found
        if value_ns is not None
    ]


def _stages(work: Work, clock: str) -> list[dict[str, object]]:
    named = [(STAGES[piece.name], piece) for piece in work.stages if piece.name in STAGES]
    named += [
        ("decode_first_step", step) for step in work.steps[:1] if step.facts["decode_ct"] == 0
    ]
    return [
        stage(name, piece.start_ns, piece.end_ns, worker=clock, clock=clock)
        for name, piece in sorted(named, key=lambda each: each[1].start_ns)
    ]


def _marks(work: Work) -> list[tuple[str, int]]:
    found = [mark for piece in (*work.stages, *work.threads) for mark in piece.marks]
    known = [(_MARKS[name], t_ns) for name, t_ns in found if name in _MARKS]
    return sorted(known, key=lambda mark: mark[1])


def _judge(row: Stream, work: Work) -> None:
    """The scheduler marks its own span where it aborted the request."""
    failed = next((thread for thread in work.threads if thread.failed), None)
    if failed is not None:
        row.status = status_of_http(failed.facts["http_status"] or 0)
        row.error_kind = failed.facts["error"] or "abort"


def _fill_deliveries(row: Stream, work: Work) -> None:
    if work.has_hole:
        row.quality.append("events_lost")
        _fill_ends(row, work)
        _fill_least_tokens(row, work)
    elif not work.steps and work.called("decode_forward"):
        _fill_ends(row, work)  # a trace level below 3 has no steps
    elif work.produced_ns:
        row.times_ns = work.times_ns
        row.counts = [1] if work.role == PREFILL else None
    elif row.status == "completed":
        _fill_ends(row, work)
    else:
        row.times_ns = []


def _fill_least_tokens(row: Stream, work: Work) -> None:
    """Count the steps by the highest number that is there, and what the prefills brought."""
    if row.total_tokens is None and work.steps:
        steps = 1 + max(step.facts["decode_ct"] or 0 for step in work.steps)
        row.total_tokens, row.total_source = steps + max(len(work.produced_ns), 1), "events"


def _fill_ends(row: Stream, work: Work) -> None:
    """First and last token, as far as the spans that are there tell them."""
    ends_ns = [piece.end_ns for piece in (*work.steps, *work.called("decode_forward"))]
    first_ns = work.root.facts["first_ns"]
    if work.produced_ns and work.produced_ns[0] <= min(ends_ns, default=work.produced_ns[0]):
        row.first_ns = work.produced_ns[0]
    elif first_ns is not None and work.role != PREFILL and work.one_host:
        row.first_ns = work.root.start_ns + first_ns
    row.last_token_ns = max(ends_ns, default=None)


def _split(row: Stream, work: Work, clock: str) -> None:
    """Say which half of a request the row is, or that one server did both."""
    worker = clock if work.threads else None
    if work.role is None:
        row.handoff_source = "none"
        row.prefill_worker = row.decode_worker = worker
        return
    row.handoff_source = "log"
    row.last_prefill_token = int(work.role == PREFILL)
    if work.role == PREFILL:
        row.prefill_worker = worker
    else:
        row.decode_worker = worker
