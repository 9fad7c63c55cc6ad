"""What is kept of vLLM's request spans, of those of one batch at once where all are as usual.

Of each span: what `vllm_spans.SPANS` has, from the ids on.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final

from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL
from tokengap.adapters.formats.otlp.spans import RawSpan, Span, ids_and_times
from tokengap.adapters.formats.otlp.values import by_key, wholes
from tokengap.adapters.formats.otlp.vllm_spans import LATENCIES
from tokengap.adapters.shared.lines import COUNT_LIMIT, LineError
from tokengap.adapters.shared.seconds import NS_PER_S
from tokengap.adapters.shared.vllm_ids import engine_ids
from tokengap.schema import TIME_LIMIT_NS

_ID: Final = "gen_ai.request.id"
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model")
_LATENCIES: Final = tuple(f"gen_ai.latency.{name}" for name in LATENCIES)
_COUNTS: Final = (
    "gen_ai.usage.prompt_tokens",
    "gen_ai.usage.completion_tokens",
    "gen_ai.request.max_tokens",
)
_LIMIT_S: Final = TIME_LIMIT_NS / NS_PER_S
_SENT_AS: Final = {PREFILL: "-p", DECODE: "-d"}
"""What a proxy may append to the id that it sends to either server."""


def facts_of(span: Span, role: str | None) -> tuple[Any, ...]:
    """Return the facts of a span of a server that does this half; LineError names what is wrong."""
    found = span.attributes
    request_id = found.text(_ID)
    if request_id is None:
        raise LineError(f"{_ID}: missing", _ID)
    return (
        *(span.trace_id, span.span_id, span.start_ns, span.end_ns),
        *(request_id, *_shared_ids([request_id], role), found.text(*_MODELS)),
        *map(found.seconds, _LATENCIES),
        *map(found.count, _COUNTS),
    )


def columns_of(raws: Sequence[RawSpan], role: str | None) -> list[Sequence[Any]] | None:
    """Return each fact of many spans; None where `facts_of` may refuse one or see it otherwise."""
    try:
        found = [by_key(raw.attributes, "attributes") for raw in raws]
        request_ids = _texts(found, _ID)
        if None in request_ids:
            return None
        answered, asked = (_texts(found, key) for key in _MODELS)
        models = [b if a is None else a for a, b in zip(answered, asked, strict=True)]
        return [
            *ids_and_times(raws),
            *(request_ids, _shared_ids(request_ids, role), models),
            *(_seconds(found, key) for key in _LATENCIES),
            *(_counts(found, key) for key in _COUNTS),
        ]
    except (ValueError, TypeError, KeyError):
        return None


_Found = Sequence[Mapping[str, Any]]
"""Values of attributes by key, of many spans."""


def _values(found: _Found, key: str, kind: str) -> list[Any]:
    """Values of this kind, None where there is none; KeyError for another kind."""
    return [value[kind] if (value := each.get(key)) else None for each in found]


def _texts(found: _Found, key: str) -> list[Any]:
    texts = _values(found, key, "stringValue")
    if not set(map(type, texts)) <= {str, NoneType}:
        raise ValueError("text expected")
    return texts


def _seconds(found: _Found, key: str) -> list[Any]:
    seconds = _values(found, key, "doubleValue")
    if not set(map(type, seconds)) <= {float, int, NoneType}:
        raise ValueError("seconds expected")
    return _within(seconds, -_LIMIT_S, _LIMIT_S)


def _counts(found: _Found, key: str) -> list[Any]:
    return _within(wholes(_values(found, key, "intValue")), 0, COUNT_LIMIT)


def _within(numbers: list[Any], least: float, most: float) -> list[Any]:
    there = [each for each in numbers if each is not None] if None in numbers else numbers
    if there and not (least <= min(there) and max(there) <= most):
        raise ValueError(f"numbers from {least} to {most} expected")
    return numbers


def _shared_ids(request_ids: Sequence[str], role: str | None) -> Sequence[str]:
    """Ids that both halves of a request share."""
    if role is None:
        return request_ids
    return [_without_mark(request_id, _SENT_AS[role]) for request_id in request_ids]


def _without_mark(request_id: str, mark: str) -> str:
    sent_id = engine_ids(request_id).get("x_request_id", "")
    return request_id.replace(f"-{sent_id}", f"-{sent_id.removesuffix(mark)}", 1)
