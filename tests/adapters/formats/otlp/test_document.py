import json
from pathlib import Path

import pytest

from tests.adapters.formats.otlp.building import T0, Record, at, request, span, write
from tokengap.adapters.formats.otlp.document import SpanFile
from tokengap.adapters.formats.otlp.spans import Span
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError

PRINTED: Record = {
    "name": "openai.chat",
    "context": {"trace_id": "0x01", "span_id": "0x02", "trace_state": "[]"},
    "kind": "SpanKind.CLIENT",
    "parent_id": None,
    "start_time": "2026-11-29T11:29:29.666550Z",
    "end_time": "2026-11-29T11:29:30.113743Z",
    "status": {"status_code": "ERROR"},
    "attributes": {"tokens": 7},
    "events": [{"name": "e", "timestamp": "2026-11-29T11:29:30Z", "attributes": {}}],
    "links": [],
    "resource": {"attributes": {"service.name": "app"}, "schema_url": ""},
}
PRINTED["context"] |= {"trace_id": "0x" + "01" * 16, "span_id": "0x" + "02" * 8}


def spans(path: Path) -> tuple[list[Span], Intake]:
    source = Source(str(path), path)
    intake = Intake("t", "otlp")
    groups = SpanFile(source, 3, "t", intake).groups()
    return [span for group in groups for _, span in group.spans()], intake


def names(path: Path) -> list[str]:
    return [span.name for span in spans(path)[0]]


def reasons(intake: Intake) -> list[str]:
    return [reject.reason for reject in intake.rejects]


def test_what_a_span_says(tmp_path: Path) -> None:
    written = span(
        "a", 1, 2.5, 7, parent=6, trace=5, events=[("e", 2)], plain={"k": "v"},
        status={"code": 2, "message": "m"}, droppedEventsCount=4,
    )  # fmt: skip
    line = request("lib", [span("b", 0, 1, 1), written], **{"service.name": "s"})
    (_, found), intake = spans(write(tmp_path / "s.jsonl", request("x", []), line))
    assert (found.name, found.scope, found.start_ns, found.end_ns) == ("a", "lib", at(1), at(2.5))
    assert (found.trace_id, found.span_id, found.parent_id) == (
        f"{5:032x}",
        f"{7:016x}",
        f"{6:016x}",
    )
    assert [(event.name, event.t_ns) for event in found.events] == [("e", at(2))]
    assert (found.attributes.text("k"), found.process.text("service.name")) == ("v", "s")
    assert (found.failed, found.dropped_events, found.file, found.place) == (True, 4, 3, 2)
    assert intake.rejects == []


def test_ids_in_base64_and_codes_by_name(tmp_path: Path) -> None:
    odd = span(
        "a", 0, 1, 1, traceId="nTggtkHvrUUtMboj8IcYGw==", spanId="ho3Oofn4G10=",
        status={"code": "STATUS_CODE_ERROR"}, kind="SPAN_KIND_CLIENT",
    )  # fmt: skip
    ((found,), _) = spans(write(tmp_path / "s.jsonl", request("lib", [odd])))
    assert found.trace_id == "9d3820b641efad452d31ba23f087181b"
    assert found.span_id == "868dcea1f9f81b5d"
    assert found.failed


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_one_document_is_read_however_it_is_laid_out(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps(request("x", [span("a", 0, 1, 1), span("b", 0, 1, 2)]), indent=indent)
    )
    assert names(path) == ["a", "b"]
    if indent is not None:
        assert [found.place for found in spans(path)[0]] == [0, 1]


def test_printed_spans(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([PRINTED, PRINTED], indent=1))
    ((_, found), _) = spans(path)
    assert (found.trace_id, found.span_id, found.parent_id) == ("01" * 16, "02" * 8, None)
    # 2026-11-29T11:29:30Z is 1,795,951,770 s after 1970.
    assert found.start_ns == 1_795_951_769_666_550_000
    assert [event.t_ns for event in found.events] == [1_795_951_770_000_000_000]
    assert found.attributes.count("tokens") == 7
    assert found.process.text("service.name") == "app"
    assert (found.failed, found.dropped_events, found.scope, found.place) == (True, None, "", 1)


def test_printed_spans_one_a_line(tmp_path: Path) -> None:
    ((found, _), _) = spans(write(tmp_path / "s.jsonl", PRINTED, PRINTED))
    assert found.place == 1


def test_a_bad_span_costs_no_other(tmp_path: Path) -> None:
    bad = [
        span("x", 0, 1, 1, startTimeUnixNano=1.7644128e18),
        span("x", 0, 1, 1, endTimeUnixNano="0"),
        span("x", 0, 1, 1, traceId="7"),
        span("x", 0, 1, 1) | {"name": None},
        span("x", 0, 1, 1, attributes=[1]),
        span("x", 0, 1, 1) | {"events": [{"name": "e"}]},
        span("x", 0, 1, 1) | {"events": "e"},
        span("x", 0, 1, 1, status={"code": 9}),
        span("x", 0, 1, 1, droppedEventsCount="many"),
    ]
    path = write(tmp_path / "s.jsonl", request("lib", [*bad, span("good", 0, 1, 1)]))
    found, intake = spans(path)
    assert [each.name for each in found] == ["good"]
    assert [reject.field for reject in intake.rejects] == [
        "startTimeUnixNano", "endTimeUnixNano", "traceId", "name", "attributes",
        "events.timeUnixNano", "events", "status", "droppedEventsCount",
    ]  # fmt: skip
    assert {reject.line for reject in intake.rejects} == {1}


def test_a_bad_line_costs_no_other(tmp_path: Path) -> None:
    good = json.dumps(request("lib", [span("a", 0, 1, 1)]))
    twice = good.replace('"name": "a"', '"name": "a", "name": "b"')
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join([good, good[:-9], twice, '{"resourceSpans": [{}]}', "{}", good]))
    found, intake = spans(path)
    assert [each.place for each in found] == [1, 6]
    assert [reject.line for reject in intake.rejects] == [2, 3, 4, 5]
    assert 'key "name" appears twice' in reasons(intake)
    assert all(reject.sha256 for reject in intake.rejects)


def test_a_bad_printed_span_costs_no_other(tmp_path: Path) -> None:
    naive = PRINTED | {"start_time": "2026-11-29T11:29:29"}
    odd = PRINTED | {"attributes": {"a": {}}, "resource": {"attributes": 1}}
    path = tmp_path / "s.json"
    path.write_text(json.dumps([naive, odd, PRINTED]))
    found, intake = spans(path)
    assert [each.place for each in found] == [2]
    assert [reject.line for reject in intake.rejects] == [0, 1]


def test_a_document_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(request("x", [span("a", 0, 1, 1)]), indent=1)[:-20])
    with pytest.raises(InputError, match=r"s\.json: .*OTLP/JSON"):
        spans(path)


def test_stamps_keep_every_digit(tmp_path: Path) -> None:
    pair = [
        span("a", 0, 1, 1, startTimeUnixNano=str(T0 + 1), endTimeUnixNano=T0 + 101),
    ]
    ((found,), _) = spans(write(tmp_path / "s.jsonl", request("x", pair)))
    assert found.end_ns - found.start_ns == 100
    assert float(T0 + 1) == float(T0 + 101)
