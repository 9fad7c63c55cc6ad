"""One line of tokengap's own log format: an event of a stream, or a whole stream."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tokengap.adapters.shared.lines import COUNT_LIMIT, LineError, decode, shaped
from tokengap.schema import COUNT_SOURCES, ORIGINS, STAGES, STATUSES, TIME_LIMIT_NS, VANTAGES

TOKEN_KINDS: Final = ("token", "text", "reasoning", "tool")
MARK_KINDS: Final = (
    "role", "usage", "finish", "done", "keepalive", "error", "preempted", "headers",
)  # fmt: skip
ENDS: Final = {
    "done": "completed", "error": "failed",
    **{status: status for status in STATUSES if status not in ("completed", "failed")},
}  # fmt: skip
"""Kinds that end a stream, and the status each one gives it."""
MARKS: Final = (*dict.fromkeys((*MARK_KINDS, *ENDS)),)
KINDS: Final = (*TOKEN_KINDS, *ORIGINS, *MARKS)

CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": KINDS,
    "marks.kind": MARKS,
    "vantage": VANTAGES,
    "status": STATUSES,
    "token_count_source": COUNT_SOURCES,
    "handoff_source": ("log", "none"),
    "clock_kind": ("wall", "monotonic"),
    "granularity": ("aggregate",),
    "stages.name": STAGES,
}
_EVENT_ONLY: Final = frozenset({"kind", "index", "n_tokens"})
_STREAM_ONLY: Final = frozenset({"granularity", "token_counts", "marks", "last_token_ns"})
_NOT_FINITE: Final = re.compile(rb'"(\w+)"\s*:\s*(-?(?:NaN|Infinity))')
_BYTE: Final = re.compile(r"\(byte (\d+)\)$")


def _one_of(name: str) -> Meta:
    return Meta(pattern=rf"^(?:{'|'.join(CHOICES[name])})\Z")


Ns = Annotated[int, Meta(ge=-TIME_LIMIT_NS, le=TIME_LIMIT_NS)]
Count = Annotated[int, Meta(ge=0, le=COUNT_LIMIT)]
Tokens = Annotated[int, Meta(ge=1, le=COUNT_LIMIT)]
Natural = Annotated[int, Meta(ge=0, le=TIME_LIMIT_NS)]
Texts = dict[str, str]


class Mark(msgspec.Struct, omit_defaults=True):
    """Something that happened and carried no token."""

    kind: Annotated[str, _one_of("marks.kind")]
    t_ns: Ns


class Stage(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A named interval inside the system, or only how long it took."""

    name: Annotated[str, _one_of("stages.name")]
    start_ns: Ns | None = None
    end_ns: Ns | None = None
    duration_ns: Ns | None = None
    worker: str | None = None
    clock: str | None = None


class Reported(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A number of the tool's own, and who computes it how."""

    metric: Annotated[str, Meta(min_length=1)]
    value_ns: Ns
    formula: Annotated[str, Meta(min_length=1)]


class Record(msgspec.Struct, omit_defaults=True):
    """A line that follows the format: an event if it has `t_ns`, else a whole stream."""

    request_id: str | None = None
    attempt: Count | None = None
    choice: Count | None = None
    vantage: Annotated[str, _one_of("vantage")] | None = None
    clock: str | None = None
    # an event
    t_ns: Ns | None = None
    kind: Annotated[str, _one_of("kind")] | None = None
    index: Natural | None = None
    n_tokens: Count | None = None
    # a whole stream
    times_ns: list[Ns] | None = None
    token_counts: list[Tokens] | None = None
    granularity: Annotated[str, _one_of("granularity")] | None = None
    marks: list[Mark] | None = None
    last_token_ns: Ns | None = None
    # facts of the request
    status: Annotated[str, _one_of("status")] | None = None
    error_kind: str | None = None
    finish_reason: str | None = None
    deployment: str | None = None
    model: str | None = None
    tenant: str | None = None
    slo_class: str | None = None
    prompt_tokens: Count | None = None
    cached_prompt_tokens: Count | None = None
    requested_output_tokens: Count | None = None
    output_tokens: Count | None = None
    token_count_source: Annotated[str, _one_of("token_count_source")] | None = None
    last_prefill_token: Count | None = None
    handoff_source: Annotated[str, _one_of("handoff_source")] | None = None
    prefill_worker: str | None = None
    decode_worker: str | None = None
    kv_bytes: Natural | None = None
    clock_kind: Annotated[str, _one_of("clock_kind")] | None = None
    streamed: bool | None = None
    planned_ns: Ns | None = None
    sent_ns: Ns | None = None
    received_ns: Ns | None = None
    arrival_ns: Ns | None = None
    stream_close_ns: Ns | None = None
    first_answer_ns: Ns | None = None
    ids: Texts | None = None
    labels: Texts | None = None
    stages: list[Stage] | None = None
    reported: list[Reported] | None = None

    @property
    def owner(self) -> tuple[str, int]:
        """Request and attempt."""
        return self.request_id or "", self.attempt or 0

    @property
    def is_stream(self) -> bool:
        """Whether the line stands for a whole stream."""
        return self.t_ns is None

    @property
    def carries_tokens(self) -> bool:
        """Whether the line's times are those of tokens."""
        return self.t_ns is None or self.kind is None or self.kind in TOKEN_KINDS


FREE_TEXT: Final = frozenset({
    "error_kind", "finish_reason", "deployment", "model", "tenant", "slo_class",
    "prefill_worker", "decode_worker",
})  # fmt: skip
NESTED: Final = frozenset({
    "times_ns", "token_counts", "ids", "labels", "marks", "stages", "reported",
})  # fmt: skip
PLACE: Final = ("request_id", "attempt", "choice", "vantage", "clock")
FACTS: Final = frozenset(Record.__struct_fields__) - {*PLACE, "t_ns", *_EVENT_ONLY}
"""Fields that say more than that a token came."""

_SHOWN: Final = frozenset(Record.__struct_fields__) - FREE_TEXT - {
    "request_id", "clock", "ids", "labels", "stages", "reported", "marks",
}  # fmt: skip


def read(data: bytes) -> tuple[Record, dict[str, Any]]:
    """The line as a record, and its fields as they stand; LineError if it breaks the format."""
    try:
        fields = decode(data)
    except LineError as error:
        raise _not_finite(error, data) from None
    try:
        record = shaped(fields, Record)
        _check_shape(record, fields)
        _check_facts(record)
    except LineError as error:
        raise _explained(error, data) from None
    return record, fields


def _check_shape(record: Record, fields: Mapping[str, object]) -> None:
    if not record.request_id:
        state = "empty" if record.request_id == "" else "missing"
        raise LineError(f"request_id is {state}", "request_id")
    if record.is_stream:
        _check_stream(record, fields)
        return
    if record.times_ns is not None:
        raise LineError("times_ns: beside t_ns; a line is one event or one stream", "times_ns")
    _refuse(record, fields, _STREAM_ONLY, "a whole stream, a line with times_ns")
    if record.n_tokens is not None and (record.n_tokens > 0) != record.carries_tokens:
        rule = (
            "at least one token" if record.carries_tokens else "no token; a total is output_tokens"
        )
        raise LineError(f"n_tokens: a {record.kind or 'token'} event holds {rule}", "n_tokens")


def _check_stream(record: Record, fields: Mapping[str, object]) -> None:
    times, counts = record.times_ns, record.token_counts
    if times is None and record.granularity is None:
        missing = "t_ns is null" if "t_ns" in fields else "neither t_ns nor times_ns is given"
        raise LineError(missing, "t_ns")
    _refuse(record, fields, _EVENT_ONLY, "an event, a line with t_ns")
    if times is not None and record.granularity is not None:
        raise LineError("granularity: an aggregate has no times_ns", "granularity")
    if times is not None and record.last_token_ns is not None:
        raise LineError("last_token_ns: only where there is no times_ns", "last_token_ns")
    if counts is not None and len(counts) != len(times or ()):
        raise LineError(
            f"token_counts: {len(counts)} of them for {len(times or ())} times", "token_counts"
        )


def _refuse(
    record: Record, fields: Mapping[str, object], names: frozenset[str], belongs: str
) -> None:
    for name in sorted(names.intersection(fields)):
        if getattr(record, name) is not None:
            raise LineError(f"{name}: belongs to {belongs}", name)


def _check_facts(record: Record) -> None:
    if record.token_count_source is not None and record.output_tokens is None:
        raise LineError("token_count_source: given without output_tokens", "token_count_source")
    if record.handoff_source == "none" and record.last_prefill_token is not None:
        raise LineError("handoff_source: none, beside a last_prefill_token", "handoff_source")
    for position, stage in enumerate(record.stages or ()):
        _check_stage(stage, f"stages[{position}]")


def _check_stage(stage: Stage, path: str) -> None:
    if (stage.start_ns is None) != (stage.end_ns is None):
        raise LineError(f"{path}: start_ns and end_ns, or neither of them", path)
    if stage.start_ns is None or stage.end_ns is None:
        if stage.duration_ns is None or stage.duration_ns < 0:
            raise LineError(f"{path}: start_ns and end_ns expected, or a duration_ns", path)
        if stage.clock is not None:
            raise LineError(f"{path}.clock: a duration alone is on none", f"{path}.clock")
    elif stage.duration_ns not in (None, stage.end_ns - stage.start_ns):
        raise LineError(f"{path}.duration_ns: not end_ns - start_ns", f"{path}.duration_ns")


def _not_finite(error: LineError, data: bytes) -> LineError:
    """The error, naming the field where NaN or Infinity is what stopped the decoder."""
    place = _BYTE.search(error.reason)
    for found in _NOT_FINITE.finditer(data):
        if place and found.start(2) <= int(place[1]) <= found.end(2):
            name, value = found[1].decode(), found[2].decode()
            return LineError(f"{name}: {value} is not JSON", name, value)
    return error


def _explained(error: LineError, data: bytes) -> LineError:
    """The error with what was expected, and the value as it is written where it cannot be text."""
    path = error.field or ""
    name = re.sub(r"\[.*?\]", "", path)
    reason = error.reason
    if name in CHOICES and "regex" in reason:
        reason = f"{path}: expected one of {', '.join(CHOICES[name])}"
    return LineError(reason, error.field, _written(data, path) if name in _SHOWN else None)


def _written(data: bytes, path: str) -> str | None:
    """The text of a field, or of an element `field[i]` of one."""
    name, _, position = path.rstrip("]").partition("[")
    value = msgspec.json.decode(data, type=dict[str, msgspec.Raw]).get(name)
    if value is not None and position.isdigit():
        value = msgspec.json.decode(value, type=list[msgspec.Raw])[int(position)]
    return None if value is None else bytes(value).decode()
