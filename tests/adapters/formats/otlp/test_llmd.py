"""No file of llm-d was at hand: these spans are built from its code at 520af478."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.otlp.building import Record, at, read, request, span
from tests.adapters.reading import Row

PREFIX = "llm_d.pd_proxy."
SUMMARY = {
    f"{PREFIX}true_ttft_ms": 412.0,
    f"{PREFIX}prefill_duration_ms": 405.0,
    f"{PREFIX}decode_duration_ms": 5120.0,
    f"{PREFIX}total_duration_ms": 5532.0,
    f"{PREFIX}coordinator_overhead_ms": 7.0,
}
TARGETS = {f"{PREFIX}prefill_target": "10.0.0.2:8000", f"{PREFIX}disaggregation_used": True}


def the_request(plain: Mapping[str, object], **raw: Any) -> Record:
    return span(f"{PREFIX}request", 0, 5532, 1, plain=plain, **raw)


def prefill(plain: Mapping[str, object] | None = None, end_ms: float = 405.5, **raw: Any) -> Record:
    facts = {f"{PREFIX}request_id": "u-1", f"{PREFIX}prefill.status_code": 200}
    return span(f"{PREFIX}prefill", 0.25, end_ms, 2, 1, plain={**facts, **(plain or {})}, **raw)


def decode(**raw: Any) -> Record:
    """The code starts it in the context of the prefill span, and writes the summary on it."""
    facts: dict[str, object] = {f"{PREFIX}decode.target": "localhost:8200", **SUMMARY}
    return span(f"{PREFIX}decode", 412.75, 5531, 3, 2, plain=facts, **raw)


def one(folder: Path, *spans: Record) -> Row:
    found = read(folder, request("llm-d-inference-scheduler", spans))
    assert found.intake.rejects == []
    (row,) = found.rows
    return row


def stages(row: Row) -> list[tuple[object, ...]]:
    return [(s["name"], s["start_ns"], s["end_ns"], s["duration_ns"]) for s in row["stages"]]


def test_the_columns_of_a_request(tmp_path: Path) -> None:
    row = one(tmp_path, prefill(), decode(), the_request(TARGETS))
    assert (row["vantage"], row["granularity"], row["status"]) == (
        "gateway", "aggregate", "completed",
    )  # fmt: skip
    assert (row["received_ns"], row["stream_close_ns"]) == (at(0), at(5532))
    assert (row["first_token_ns"], row["last_token_ns"], row["gaps_ns"]) == (None, None, None)
    # The stamps of the spans say more than the whole milliseconds: relay 412.75 - 405.5 ms.
    assert stages(row) == [
        ("prefill", at(0.25), at(405.5), 405_250_000),
        ("relay", at(405.5), at(412.75), 7_250_000),
    ]
    assert [(r["metric"], r["value_ns"]) for r in row["reported"]] == [("true_ttft", 412_000_000)]
    assert (row["prefill_worker"], row["decode_worker"]) == ("10.0.0.2:8000", "localhost:8200")
    assert (row["last_prefill_token"], row["handoff_source"]) == (0, "log")
    assert dict(row["ids"]) == {"trace_id": f"{1:032x}", "x_request_id": "u-1"}
    assert row["quality"] == ["end_not_seen"]


def test_durations_alone(tmp_path: Path) -> None:
    row = one(tmp_path, the_request(SUMMARY))
    assert stages(row) == [
        ("prefill", None, None, 405_000_000), ("relay", None, None, 7_000_000),
    ]  # fmt: skip
    assert (row["handoff_source"], row["last_prefill_token"]) == (None, None)


def test_requests_to_both_at_once_have_nothing_between_them(tmp_path: Path) -> None:
    both = {f"{PREFIX}prefill.async": True}
    row = one(tmp_path, the_request(TARGETS), prefill(both, end_ms=600), decode())
    assert [name for name, *_ in stages(row)] == ["prefill"]


def test_a_request_that_was_not_split(tmp_path: Path) -> None:
    row = one(tmp_path, the_request({f"{PREFIX}disaggregation_used": False}))
    assert (row["handoff_source"], row["last_prefill_token"], row["stages"]) == ("none", None, [])


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [(200, "completed", None), (429, "rejected", "http_429"), (404, "failed", "http_404"),
     (502, "completed", None)],
)  # fmt: skip
def test_a_refused_prefill_is_the_answer_another_failure_is_not(
    tmp_path: Path, code: int, status: str, kind: str | None
) -> None:
    failed = prefill({f"{PREFIX}prefill.status_code": code}, status={"code": int(code >= 400) * 2})
    row = one(tmp_path, the_request(TARGETS), failed)
    assert (row["status"], row["error_kind"]) == (status, kind)


@pytest.mark.parametrize("broken", [the_request(TARGETS, status={"code": 2}), the_request(TARGETS)])
def test_a_failed_span_is_a_failed_request(tmp_path: Path, broken: Record) -> None:
    inner = [] if broken["status"] else [decode(status={"code": 2})]
    row = one(tmp_path, broken, prefill(), *inner)
    assert (row["status"], row["error_kind"]) == ("failed", "error")


def test_parts_without_their_request_are_refused(tmp_path: Path) -> None:
    found = read(tmp_path, request("llm-d-inference-scheduler", [prefill(), decode()]))
    assert found.rows == []
    assert len(found.intake.rejects) == 2


def test_a_span_that_was_exported_twice_is_one_row(tmp_path: Path) -> None:
    row = one(tmp_path, the_request(TARGETS), the_request(TARGETS))
    assert row["quality"] == ["duplicate_dropped", "end_not_seen"]


def test_the_http_spans_of_the_proxy_are_counted(tmp_path: Path) -> None:
    # They lie above those of requests, and come with each of them.
    http = [span(f"{PREFIX}POST /v1/completions", 0, 5533, number) for number in (8, 9)]
    found = read(tmp_path, request("llm-d-inference-scheduler", [*http, the_request(TARGETS)]))
    assert len(found.rows) == 1
    assert [reject.reason.split(" spans")[0] for reject in found.intake.rejects] == ["2"]
