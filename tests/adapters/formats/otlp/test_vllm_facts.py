from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from tests.adapters.formats.otlp.building import Record, at, attributes
from tests.adapters.formats.otlp.test_vllm import LATENCY, llm_request
from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL
from tokengap.adapters.formats.otlp.spans import RawSpan, span_of
from tokengap.adapters.formats.otlp.values import NO_ATTRIBUTES
from tokengap.adapters.formats.otlp.vllm_facts import columns_of, facts_of
from tokengap.adapters.formats.otlp.vllm_spans import SPANS
from tokengap.adapters.shared.lines import LineError

ID = "gen_ai.request.id"
TTFT = f"{LATENCY}time_to_first_token"
TOKENS = "gen_ai.usage.completion_tokens"


def raws(*written: Record) -> list[RawSpan]:
    return [msgspec.convert(each, RawSpan) for each in written]


def singly(found: list[RawSpan], role: str | None = None) -> list[tuple[Any, ...]]:
    spans = (span_of(raw, "vllm.x", NO_ATTRIBUTES, 0, 1) for raw in found)
    return [facts_of(span, role) for span in spans]


def rewritten(key: str, value: object) -> Record:
    """The span with another value of this attribute, as it is written."""
    written = llm_request()
    for pair in written["attributes"]:
        if pair["key"] == key:
            pair["value"] = value
    return written


def without(*keys: str) -> Record:
    return llm_request(**dict.fromkeys(keys))


def test_the_facts_of_a_span() -> None:
    facts = dict(zip(SPANS.names[3:], *singly(raws(llm_request())), strict=True))
    assert (facts["trace_id"], facts["span_id"]) == (f"{1:032x}", f"{1:016x}")
    assert (facts["start_ns"], facts["end_ns"]) == (at(0), at(1001))
    assert (facts["request_id"], facts["shared_id"], facts["model"]) == (
        "chatcmpl-r-1", "chatcmpl-r-1", None,
    )  # fmt: skip
    assert [facts[name] for name in ("time_to_first_token", "e2e", "time_in_queue")] == [
        0.25, 1.0, 0.0625,
    ]  # fmt: skip
    counts = ("prompt_tokens", "output_tokens", "requested_output_tokens")
    assert [facts[name] for name in counts] == [12, 4, 16]


@pytest.mark.parametrize(
    "other",
    [
        llm_request(2, 5),
        without(TTFT, TOKENS),
        llm_request(**{"gen_ai.request.model": "asked"}),
        llm_request(**{"gen_ai.request.model": "asked", "gen_ai.response.model": "answered"}),
        llm_request(**{"gen_ai.request.model": "asked", "gen_ai.response.model": ""}),
        rewritten(TTFT, {"doubleValue": 2}),
        rewritten(TTFT, {"doubleValue": -1.5}),
        rewritten(TTFT, {}),
        rewritten(TOKENS, {"intValue": "0"}),
        rewritten(TOKENS, None),
        {**llm_request(), "status": {"code": 2}, "parentSpanId": "00000000000000ab"},
        {**llm_request(), "attributes": list(reversed(llm_request()["attributes"]))},
    ],
)
def test_many_spans_have_the_facts_of_each(other: Record) -> None:
    found = raws(llm_request(), other, llm_request(3))
    columns = columns_of(found, None)
    assert columns is not None
    assert list(zip(*columns, strict=True)) == singly(found)


ODD: Mapping[str, Record] = {
    "integer": rewritten(TTFT, {"intValue": "2"}),
    "not a number": rewritten(TTFT, {"doubleValue": "NaN"}),
    "number as such": {**llm_request(), "startTimeUnixNano": at(0)},
    "base64": {**llm_request(), "spanId": "ho3Oofn4G10="},
    "capitals": {**llm_request(), "spanId": "00000000000000AB"},
    "event": llm_request() | {"events": [{"name": "e", "timeUnixNano": str(at(1))}]},
    "dropped": llm_request() | {"droppedEventsCount": 1},
}
WRONG: Mapping[str, Record] = {
    "no id": without(ID),
    "id": rewritten(ID, {"intValue": "1"}),
    "seconds": rewritten(TTFT, {"stringValue": "1"}),
    "many seconds": rewritten(TTFT, {"doubleValue": 1e12}),
    "value": rewritten(TTFT, 0.5),
    "true": rewritten(TOKENS, {"intValue": True}),
    "fraction": rewritten(TOKENS, {"intValue": 1.5}),
    "below 0": rewritten(TOKENS, {"intValue": "-1"}),
    "many tokens": rewritten(TOKENS, {"intValue": str(2**31)}),
    "twice": llm_request() | {"attributes": [*llm_request()["attributes"], *attributes({ID: "a"})]},
    "no pairs": llm_request() | {"attributes": ["a"]},
    "no list": llm_request() | {"attributes": {"a": 1}},
    "no attributes": llm_request() | {"attributes": None},
    "start": llm_request() | {"startTimeUnixNano": "0"},
    "no start": llm_request() | {"startTimeUnixNano": None},
    "end": llm_request() | {"endTimeUnixNano": str(2**62 + 1)},
    "trace": llm_request() | {"traceId": 5},
    "parent": llm_request() | {"parentSpanId": "x"},
    "status": llm_request() | {"status": {"code": 9}},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_what_is_written_in_another_way_is_left_to_be_looked_at_singly(odd: Record) -> None:
    assert columns_of(raws(llm_request(), odd), None) is None
    assert len(singly(raws(odd))) == 1


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_gets_its_reason_singly(wrong: Record) -> None:
    assert columns_of(raws(llm_request(), wrong), None) is None
    with pytest.raises(LineError):
        singly(raws(wrong))


@pytest.mark.parametrize(
    ("request_id", "role", "shared_id"),
    [
        ("cmpl-r-1-p-0", PREFILL, "cmpl-r-1-0"),
        ("cmpl-r-1-d-0", DECODE, "cmpl-r-1-0"),
        ("cmpl-r-1-p-0", DECODE, "cmpl-r-1-p-0"),
        ("cmpl-r-1-p-0", None, "cmpl-r-1-p-0"),
        ("chatcmpl-r-p", PREFILL, "chatcmpl-r"),
        ("cmpl-pl-p-0", PREFILL, "cmpl-pl-0"),
        ("embd-9-p", PREFILL, "embd-9-p"),
    ],
)
def test_the_id_that_halves_share(request_id: str, role: str | None, shared_id: str) -> None:
    found = raws(llm_request(**{ID: request_id}))
    columns = columns_of(found, role)
    assert columns is not None
    at_shared = SPANS.names.index("shared_id") - 3
    assert columns[at_shared] == [shared_id] == [singly(found, role)[0][at_shared]]
