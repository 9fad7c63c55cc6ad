from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.adapters.formats.otlp.building import Record, at, read, request, span
from tests.adapters.reading import SAMPLES, Reading, Row, records
from tests.adapters.reading import read as read_file
from tokengap.adapters.formats.otlp.adapter import Otlp

FOLDER = SAMPLES / "otlp"
LATENCY = "gen_ai.latency."
FACTS: dict[str, Any] = {
    "gen_ai.request.id": "chatcmpl-r-1",
    f"{LATENCY}time_to_first_token": 0.25,
    f"{LATENCY}e2e": 1.0,
    f"{LATENCY}time_in_queue": 0.0625,
    f"{LATENCY}time_in_model_prefill": 0.125,
    f"{LATENCY}time_in_model_decode": 0.75,
    "gen_ai.usage.prompt_tokens": 12,
    "gen_ai.usage.completion_tokens": 4,
    "gen_ai.request.max_tokens": 16,
    "gen_ai.request.n": 1,
}


def llm_request(number: int = 1, start_ms: float = 0, /, **facts: Any) -> Record:
    plain = {name: each for name, each in (FACTS | facts).items() if each is not None}
    return span("llm_request", start_ms, start_ms + 1001, number, plain=plain)


def exported(*spans: Record, service: str = "vllm", instance: str = "i-1") -> Record:
    process = {"service.name": service, "service.instance.id": instance}
    return request("vllm.tracing.otel", spans, **process)


def one(folder: Path, *lines: Record) -> Row:
    (row,) = read(folder, *lines).rows
    return row


def key(row: Row) -> tuple[object, ...]:
    return (*(row[name] for name in ("trace", "request_id", "attempt", "choice", "vantage")),)


def sample(name: str) -> Reading:
    return read_file(Otlp(), FOLDER / f"{name}.jsonl.gz")


def test_the_columns_of_a_span(tmp_path: Path) -> None:
    row = one(tmp_path, exported(llm_request()))
    assert (row["request_id"], row["vantage"], row["granularity"]) == (
        "chatcmpl-r-1", "engine", "aggregate",
    )  # fmt: skip
    assert dict(row["ids"]) == {
        "sse_id": "chatcmpl-r-1", "x_request_id": "r-1", "trace_id": f"{1:032x}",
    }  # fmt: skip
    assert (row["arrival_ns"], row["first_token_ns"]) == (at(0), at(250))
    assert (row["last_token_ns"], row["stream_close_ns"]) == (at(1000), at(1001))
    assert (row["clock"], row["clock_kind"]) == ("vllm:i-1", "wall")
    assert (row["prompt_tokens"], row["output_tokens"], row["token_count_source"]) == (
        12,
        4,
        "usage",
    )
    assert (row["requested_output_tokens"], row["gaps_ns"]) == (16, None)
    assert [(s["name"], s["duration_ns"], s["clock"]) for s in row["stages"]] == [
        ("queue", 62_500_000, None),
        ("prefill", 125_000_000, None),
    ]
    # 0.75 s over three gaps.
    assert [(r["metric"], r["value_ns"]) for r in row["reported"]] == [("tpot", 250_000_000)]
    assert (row["status"], row["quality"]) == ("completed", ["failures_not_kept"])
    assert (row["last_prefill_token"], row["handoff_source"], row["decode_worker"]) == (None,) * 3


def test_what_is_not_logged_stays_unknown(tmp_path: Path) -> None:
    absent = dict.fromkeys(name for name in FACTS if name != "gen_ai.request.id")
    row = one(tmp_path, exported(llm_request(**absent)))
    for name in ("first_token_ns", "last_token_ns", "output_tokens", "requested_output_tokens"):
        assert row[name] is None
    assert (row["stages"], row["reported"]) == ([], [])


def test_a_time_that_was_never_set_is_dropped(tmp_path: Path) -> None:
    row = one(tmp_path, exported(llm_request(**{f"{LATENCY}time_to_first_token": 0.0})))
    assert row["first_token_ns"] is None
    assert row["quality"] == ["failures_not_kept", "sentinel_dropped"]


def test_an_answer_of_one_token_has_no_average(tmp_path: Path) -> None:
    one_token = {"gen_ai.usage.completion_tokens": 1, f"{LATENCY}time_in_model_decode": 0.0}
    assert one(tmp_path, exported(llm_request(**one_token)))["reported"] == []


@pytest.mark.parametrize(
    ("request_id", "ids"),
    [
        ("cmpl-r-7-0", {"sse_id": "cmpl-r-7", "x_request_id": "r-7"}),
        ("chatcmpl-r-7", {"sse_id": "chatcmpl-r-7", "x_request_id": "r-7"}),
        ("embd-9", {}),
    ],
)
def test_ids(tmp_path: Path, request_id: str, ids: dict[str, str]) -> None:
    row = one(tmp_path, exported(llm_request(**{"gen_ai.request.id": request_id})))
    assert row["request_id"] == request_id
    assert dict(row["ids"]) == ids | {"trace_id": f"{1:032x}"}


def test_halves_are_rows_that_know_each_other(tmp_path: Path) -> None:
    prefill, decode = (
        exported(
            llm_request(number, start_ms, **{"gen_ai.request.id": f"cmpl-r-1-{letter}-0"}),
            service=f"vllm-{role}",
            instance=f"{role}-1",
        )
        for number, role, letter, start_ms in ((1, "prefill", "p", 0), (2, "decode", "d", 1010))
    )
    rows = read(tmp_path, decode, prefill).by_id()
    first, second = rows["cmpl-r-1-p-0"], rows["cmpl-r-1-d-0"]
    assert dict(first["ids"]) == {
        "x_request_id": "r-1", "x_request_id.prefill": "r-1-p", "trace_id": f"{1:032x}",
    }  # fmt: skip
    assert dict(second["ids"]) == {
        "sse_id": "cmpl-r-1", "x_request_id": "r-1", "x_request_id.decode": "r-1-d",
        "trace_id": f"{1:032x}",
    }  # fmt: skip
    assert (first["prefill_worker"], first["decode_worker"]) == ("vllm-prefill/prefill-", None)
    assert (second["prefill_worker"], second["decode_worker"]) == (None, "vllm-decode/decode-1")
    assert [(r["last_prefill_token"], r["handoff_source"]) for r in (first, second)] == [
        (1, "log"), (0, "log"),
    ]  # fmt: skip
    # The prefill server's token is out when its span ends.
    assert (first["first_token_ns"], first["last_token_ns"]) == (at(1001), at(1001))
    assert {"metric": "ttft", "value_ns": 250_000_000}.items() <= first["reported"][-1].items()
    assert second["first_token_ns"] == at(1260)
    assert [stage["name"] for stage in first["stages"]] == ["queue", "prefill"]
    assert {stage["worker"] for stage in second["stages"]} == {"vllm-decode/decode-1"}
    assert [stage["name"] for stage in second["stages"]] == ["decode_queue", "decode_first_step"]


def test_halves_that_were_sent_under_one_id_are_two_rows(tmp_path: Path) -> None:
    lines = [
        exported(llm_request(number), service=role, instance=role)
        for number, role in ((1, "prefill"), (2, "decode"))
    ]
    rows = read(tmp_path, *lines).by_id()
    assert set(rows) == {"chatcmpl-r-1.prefill", "chatcmpl-r-1.decode"}
    assert {dict(row["ids"])["x_request_id"] for row in rows.values()} == {"r-1"}


def test_a_name_that_says_both_halves_says_none(tmp_path: Path) -> None:
    row = one(tmp_path, exported(llm_request(), service="prefill-decode"))
    assert (row["handoff_source"], row["last_prefill_token"]) == (None, None)


def test_a_span_that_was_exported_twice_is_one_row(tmp_path: Path) -> None:
    row = one(tmp_path, exported(llm_request()), exported(llm_request()))
    assert row["quality"] == ["duplicate_dropped", "failures_not_kept"]


def test_a_span_without_an_id_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, exported(llm_request(**{"gen_ai.request.id": None}), llm_request(2)))
    assert len(found.rows) == 1
    assert [reject.field for reject in found.intake.rejects] == ["gen_ai.request.id"]


def test_a_span_that_is_written_in_another_way_is_a_row_like_the_others(tmp_path: Path) -> None:
    odd = llm_request(2, **{"gen_ai.request.id": "embd-2", f"{LATENCY}e2e": 2})
    unread = exported(llm_request(3), llm_request(4) | {"traceId": 5})
    found = read(tmp_path, exported(llm_request(), odd), request("lib", [odd]), unread)
    rows = sorted(found.rows, key=lambda row: row["source"])
    assert [row["request_id"] for row in rows] == [
        "chatcmpl-r-1", "embd-2", "chatcmpl-r-1",
    ]  # fmt: skip
    assert rows[1]["last_token_ns"] == at(2000)
    assert rows[1]["quality"] == ["duplicate_dropped", "failures_not_kept"]
    # Both under one id: of one process and with one arrival they are two choices.
    assert [(row["choice"], "order_assumed" in row["quality"]) for row in rows] == [
        (0, True), (0, False), (1, True),
    ]  # fmt: skip
    assert [(reject.line, reject.field) for reject in found.intake.rejects] == [(3, "traceId")]


@pytest.mark.parametrize("name", ["otlp_spans_mono", "otlp_spans_pd", "otlp_spans_nixl"])
def test_every_request_span_of_a_sample_is_a_row(name: str) -> None:
    found = sample(name)
    logged = Counter(
        span["spanId"]
        for line in records(FOLDER / f"{name}.jsonl.gz")
        for resource in line["resourceSpans"]
        for group in resource["scopeSpans"]
        for span in group["spans"]
        if span["name"] == "llm_request"
    )
    assert len(found.rows) == logged.total() == len(set(map(key, found.rows)))
    assert found.intake.rejects == []
    for row in found.rows:
        # The API server handles the last output before it writes the span.
        assert row["arrival_ns"] < row["first_token_ns"] <= row["last_token_ns"]
        assert row["last_token_ns"] <= row["stream_close_ns"]


def test_runs_and_choices_under_one_id() -> None:
    rows = sample("otlp_spans_mono").rows
    tries = sorted(
        (row["trace"], row["arrival_ns"], row["stages"][1]["duration_ns"])
        for row in rows
        if row["request_id"] == "chatcmpl-chat-logprobs-0"
    )
    # The first one spent 15.66 s in prefill, the second 0.016 s.
    assert [(each[0], round(each[2] / 1e9, 2)) for each in tries] == [
        ("otlp_spans_mono", 15.66),
        ("otlp_spans_mono.2", 0.02),
    ]
    assert tries[0][1] < tries[1][1]
    choices = [row for row in rows if row["request_id"] == "cmpl-comp-n2-0-0"]
    assert sorted(row["choice"] for row in choices) == [0, 1]
    assert {(row["attempt"], row["output_tokens"]) for row in choices} == {(0, 12)}
    assert all("order_assumed" in row["quality"] for row in choices)


def handoffs_ms(found: Reading, prefix: str, run: str = "") -> list[float]:
    """Of every request with both halves: decode's first token - prefill's."""
    halves: dict[tuple[object, ...], dict[str, int]] = {}
    for row in found.rows:
        name = dict(row["ids"])["x_request_id"]
        if name.startswith(prefix) and row["trace"] == found.intake.trace + run:
            half = halves.setdefault((name, row["attempt"]), {})
            half["prefill" if row["prefill_worker"] else "decode"] = row["first_token_ns"]
    return [(half["decode"] - half["prefill"]) / 1e6 for half in halves.values() if len(half) == 2]


@pytest.mark.parametrize(
    ("name", "prefix", "requests", "middle_ms", "longest_ms"),
    [
        ("otlp_spans_pd", "pdd-", 50, 74.9, 725.9),
        ("otlp_spans_pd", "pdf-", 50, 128.2, 1064.1),
        ("otlp_spans_pd", "sd-", 24, 29.4, 372.3),
        ("otlp_spans_pd", "sf-", 24, 29.4, 431.8),
        ("otlp_spans_nixl", "pdd-", 49, 88.6, 3529.6),
        ("otlp_spans_nixl", "pdf-", 50, 934.5, 5268.6),
    ],
)
def test_handoff_from_one_server_to_the_other(
    name: str, prefix: str, requests: int, middle_ms: float, longest_ms: float
) -> None:
    # As measured when the samples were recorded, to a tenth of a millisecond.
    found = handoffs_ms(sample(name), prefix)
    assert len(found) == requests
    assert median(found) == pytest.approx(middle_ms, abs=0.051)
    assert max(found) == pytest.approx(longest_ms, abs=0.051)


def test_requests_of_a_later_run_under_the_same_ids_are_kept_apart() -> None:
    # pdb-0 to pdb-59: 59 prefills and 7 decodes before the decode server died, then 60 and 60.
    found = sample("otlp_spans_pd")
    again = [row for row in found.rows if row["trace"] == "otlp_spans_pd.2"]
    names = Counter(dict(row["ids"])["x_request_id"] for row in again)
    assert len(names) == 59
    assert set(names.values()) == {2}
    assert len(handoffs_ms(found, "pdb-", ".2")) == 59
    processes = {row["clock"] for row in again}
    crashed = {
        row["clock"]
        for row in found.rows
        if row["trace"] == "otlp_spans_pd" and dict(row["ids"])["x_request_id"] in names
    }
    assert len(processes) == len(crashed) == 2
    assert processes.isdisjoint(crashed)


def test_the_wait_at_the_decode_server() -> None:
    # With NIXL the wait for the KV cache shows there; with the other connector nothing does.
    waits = {
        name: [
            stage["duration_ns"] / 1e6
            for row in sample(name).rows
            if dict(row["ids"])["x_request_id"].startswith("pdd-") and row["decode_worker"]
            for stage in row["stages"]
            if stage["name"] == "decode_queue"
        ]
        for name in ("otlp_spans_nixl", "otlp_spans_pd")
    }
    nixl = waits["otlp_spans_nixl"]
    assert (len(nixl), round(median(nixl), 1), round(max(nixl))) == (49, 10.8, 3485)
    assert max(waits["otlp_spans_pd"]) < 1


def test_a_process_without_a_name(tmp_path: Path) -> None:
    row = one(tmp_path, request("vllm.tracing.otel", [llm_request()]))
    assert (row["labels"], row["stages"][0]["worker"]) == ([], None)
    assert row["clock"] == ":".join(row["source"].split(":")[:2])
