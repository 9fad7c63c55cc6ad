"""One span, read strictly from OTLP/JSON or from what the SDK prints for a span."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tokengap.adapters.formats.otlp.values import (
    Attributes,
    KeyValue,
    Objects,
    any_value,
    are_hex,
    hex_id,
    stamp_ns,
    whole,
    wholes,
)
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.wall_time import rfc3339_ns
from tokengap.schema import TIME_LIMIT_NS

TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8

_FAILED: Final = {
    None: False,
    0: False,
    1: False,
    2: True,
    "STATUS_CODE_UNSET": False,
    "STATUS_CODE_OK": False,
    "STATUS_CODE_ERROR": True,
    "UNSET": False,
    "OK": False,
    "ERROR": True,
}


class RawEvent(msgspec.Struct, gc=False):
    """An event as it is written."""

    name: Any = None
    timeUnixNano: Any = None  # noqa: N815
    attributes: Objects[KeyValue] = None


class RawSpan(msgspec.Struct, gc=False):
    """A span as it is written; each is checked by itself, so that a bad one costs no other."""

    traceId: Any = None  # noqa: N815
    spanId: Any = None  # noqa: N815
    parentSpanId: Any = None  # noqa: N815
    name: Any = None
    startTimeUnixNano: Any = None  # noqa: N815
    endTimeUnixNano: Any = None  # noqa: N815
    attributes: Objects[KeyValue] = None
    events: Objects[RawEvent] = None
    droppedEventsCount: Any = None  # noqa: N815
    status: Any = None


class Scope(msgspec.Struct):
    """The library that made the spans."""

    name: str = ""


class ScopeSpans(msgspec.Struct):
    """Spans of one library."""

    scope: Scope | None = None
    spans: list[RawSpan] = []


class Resource(msgspec.Struct):
    """The process."""

    attributes: Objects[KeyValue] = None


class ResourceSpans(msgspec.Struct):
    """Spans of one process."""

    scopeSpans: list[ScopeSpans]  # noqa: N815
    resource: Resource | None = None


class Request(msgspec.Struct):
    """One export request: all that a line, or a file that is one document, holds."""

    resourceSpans: list[ResourceSpans]  # noqa: N815


class SdkSpan(msgspec.Struct):
    """What `span.to_json()` of OpenTelemetry's Python SDK gives."""

    name: str
    context: dict[str, str]
    start_time: str
    end_time: str
    parent_id: str | None = None
    status: Any = None
    attributes: dict[str, Any] | None = None
    events: list[dict[str, Any]] = []
    resource: dict[str, Any] | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something at one instant within a span."""

    name: str
    t_ns: int
    attributes: Attributes


class Span(msgspec.Struct, frozen=True, gc=False):
    """A finished span.

    dropped_events: how many the SDK left out; None if the file does not say. scope: empty where the
    file does not name the library. file: position among the files of the call. place: line number,
    or index in the document.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: list[Event]
    dropped_events: int | None
    failed: bool
    scope: str
    process: Attributes
    file: int
    place: int


def span_of(raw: RawSpan, scope: str, process: Attributes, file: int, place: int) -> Span:
    """Check a span of an export request; LineError names what is wrong."""
    if not isinstance(raw.name, str):
        raise LineError("name: text expected", "name")
    dropped = raw.droppedEventsCount
    return Span(
        hex_id(raw.traceId, TRACE_BYTES, "traceId"),
        hex_id(raw.spanId, SPAN_BYTES, "spanId"),
        hex_id(raw.parentSpanId, SPAN_BYTES, "parentSpanId") if raw.parentSpanId else None,
        raw.name,
        stamp_ns(raw.startTimeUnixNano, "startTimeUnixNano"),
        stamp_ns(raw.endTimeUnixNano, "endTimeUnixNano"),
        Attributes.of(raw.attributes, "attributes"),
        _events(raw.events) if raw.events else [],
        0 if dropped is None else whole(dropped, "droppedEventsCount"),
        _failed(raw.status, "code"),
        scope,
        process,
        file,
        place,
    )


def ids_and_times(raws: Sequence[RawSpan]) -> list[list[Any]]:
    """Trace ids, span ids, starts and ends of many spans, of which none has events.

    ValueError or TypeError if `span_of` may refuse one, or change an id.
    """
    trace_ids = [raw.traceId for raw in raws]
    span_ids = [raw.spanId for raw in raws]
    parents = [raw.parentSpanId for raw in raws if raw.parentSpanId]
    if not (are_hex(trace_ids, TRACE_BYTES) and are_hex([*span_ids, *parents], SPAN_BYTES)):
        raise ValueError("ids in hex expected")
    starts_ns = wholes([raw.startTimeUnixNano for raw in raws])
    ends_ns = wholes([raw.endTimeUnixNano for raw in raws])
    stamps_ns = (*starts_ns, *ends_ns)
    if min(stamps_ns) <= 0 or max(stamps_ns) > TIME_LIMIT_NS:
        raise ValueError("nanoseconds since 1970 expected, not 0")
    for raw in raws:
        if raw.events or raw.droppedEventsCount is not None:
            raise ValueError("no events expected")
        _failed(raw.status, "code")
    return [trace_ids, span_ids, starts_ns, ends_ns]


def _events(raws: Objects[RawEvent]) -> list[Event]:
    found = raws if isinstance(raws, list) else [raws]
    events = [raw for raw in found if isinstance(raw, RawEvent)]
    if len(events) < len(found):
        raise LineError("events: a list of objects expected", "events")
    return [
        Event(
            str(event.name),
            stamp_ns(event.timeUnixNano, "events.timeUnixNano"),
            Attributes.of(event.attributes, "events.attributes"),
        )
        for event in events
    ]


def _failed(status: object, key: str) -> bool:
    if not status:
        return False
    code = status.get(key) if isinstance(status, dict) else "none"
    if isinstance(code, int | str | None) and code in _FAILED:
        return _FAILED[code]
    raise LineError("status: an unknown code", "status")


def sdk_span_of(raw: SdkSpan, file: int, place: int) -> Span:
    """Check a span that the SDK printed: no library is named, dropped events are not counted."""
    process = raw.resource.get("attributes") if raw.resource else None
    return Span(
        _sdk_id(raw.context.get("trace_id"), TRACE_BYTES, "context.trace_id"),
        _sdk_id(raw.context.get("span_id"), SPAN_BYTES, "context.span_id"),
        _sdk_id(raw.parent_id, SPAN_BYTES, "parent_id") if raw.parent_id else None,
        raw.name,
        rfc3339_ns(raw.start_time, "start_time"),
        rfc3339_ns(raw.end_time, "end_time"),
        _sdk_attributes(raw.attributes, "attributes"),
        [
            Event(
                str(event.get("name")),
                rfc3339_ns(str(event.get("timestamp")), "events.timestamp"),
                _sdk_attributes(event.get("attributes"), "events.attributes"),
            )
            for event in raw.events
        ],
        None,
        _failed(raw.status, "status_code"),
        "",
        _sdk_attributes(process, "resource.attributes"),
        file,
        place,
    )


def _sdk_id(value: str | None, size_bytes: int, field: str) -> str:
    return hex_id(value and value.removeprefix("0x"), size_bytes, field)


def _sdk_attributes(values: object, field: str) -> Attributes:
    if values is not None and not isinstance(values, dict):
        raise LineError(f"{field}: an object expected", field)
    return Attributes({key: any_value(value) for key, value in (values or {}).items()})
