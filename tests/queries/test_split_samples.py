"""Real logs of a prefill and a decode server: client, proxy and both engines, joined.

Medians and maxima are those that were measured when the runs were made, in ms; the value of every
request is recomputed from the files with the standard library.
"""

from pathlib import Path
from statistics import median
from typing import Any, Final

import pytest

from tests.adapters.reading import SAMPLES, records
from tests.queries.given import Library
from tokengap.store.connect import Declared

BENCH: Final = SAMPLES / "vllm-bench"
PROXY: Final = SAMPLES / "proxy-log"
SPANS: Final = SAMPLES / "otlp" / "otlp_spans_pd.jsonl.gz"
SSE: Final = SAMPLES / "sse"

Values = dict[str, int]


def proxied(name: str) -> dict[str, dict[str, Any]]:
    return {each["request_id"]: each for each in records(PROXY / name)}


def gateways(name: str) -> Values:
    """From the prefill server's answer to the decode server's first chunk."""
    return {
        id_: each["decode_first_chunk_ns"] - each["prefill_done_ns"]
        for id_, each in proxied(name).items()
        if each["decode_first_chunk_ns"] is not None
    }


def engines() -> Values:
    """From the end of the prefill server's span to the decode server's first token."""
    halves: dict[tuple[str, str], int] = {}
    for line in records(SPANS):
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            if span["name"] != "llm_request":
                continue
            found = {each["key"]: each["value"] for each in span["attributes"]}
            id_, part = found["gen_ai.request.id"]["stringValue"][5:-2].rsplit("-", 1)
            waited_s = found["gen_ai.latency.time_to_first_token"]["doubleValue"]
            first_ns = int(span["startTimeUnixNano"]) + round(waited_s * 1e9)
            halves[id_, part] = int(span["endTimeUnixNano"]) if part == "p" else first_ns
    ids = {id_ for id_, part in halves if part == "d"}
    return {id_: halves[id_, "d"] - halves[id_, "p"] for id_ in ids}


def first_gaps(name: str) -> Values:
    (document,) = records(BENCH / name)
    return {str(n): round(gaps[0] * 1e9) for n, gaps in enumerate(document["itls"])}


def first_waits(name: str, proxy: str, prefix: str) -> Values:
    """From the prefill server's answer to the client's first token; one host, one clock."""
    (document,) = records(BENCH / name)
    log = proxied(proxy)
    return {
        str(n): round(sent_s * 1e9) + round(waited_s * 1e9) - log[f"{prefix}{n}"]["prefill_done_ns"]
        for n, (sent_s, waited_s) in enumerate(
            zip(document["start_times"], document["ttfts"], strict=True)
        )
    }


def read(library: Library, *paths: Path, prefix: str | None = None, same: bool = True) -> None:
    prefixes = () if prefix is None else ((None, prefix),)
    library.read(paths, Declared(same_clock=same, id_prefixes=prefixes))


def handoffs(library: Library, boundary: str) -> Values:
    return {
        row["request_id"]: row["handoff_ns"]
        for row in library.rows("handoff_boundaries")
        if row["boundary"] == boundary and row["vantage"] == "client"
        if row["handoff_ns"] is not None
    }


def ms(values: Values) -> tuple[float, float]:
    """Median and maximum."""
    return round(median(values.values()) / 1e6, 1), round(max(values.values()) / 1e6, 1)


@pytest.mark.parametrize(
    ("log", "proxy", "prefix", "requests", "gateway_ms", "engine_ms"),
    [
        (
            BENCH / "bench_pd_discard.json.gz", "proxy_pd_discard.jsonl", "pdd-", 50,
            (58.2, 539.5), (74.9, 725.9),
        ),
        (
            BENCH / "bench_pd_forward.json.gz", "proxy_pd_forward.jsonl.gz", "pdf-", 50,
            (127.4, 1_068.9), (128.2, 1_064.1),
        ),
        (
            SSE / "sse_pd_discard.jsonl.gz", "proxy_pd_discard.jsonl", None, 24,
            (26.8, 402.1), (29.4, 372.3),
        ),
        (
            SSE / "sse_pd_forward.jsonl.gz", "proxy_pd_forward.jsonl.gz", None, 24,
            (36.2, 430.8), (29.4, 431.8),
        ),
    ],
)  # fmt: skip
def test_of_one_handoff_the_gateway_and_the_engines_see_different_spans(
    library: Library,
    log: Path,
    proxy: str,
    prefix: str | None,
    requests: int,
    gateway_ms: tuple[float, float],
    engine_ms: tuple[float, float],
) -> None:
    read(library, log, PROXY / proxy, SPANS, prefix=prefix)
    for boundary, measured, right in (
        ("gateway", gateway_ms, gateways(proxy)),
        ("engine", engine_ms, engines()),
    ):
        found = handoffs(library, boundary)
        assert len(found) == requests
        assert found == {id_: right[f"{prefix or ''}{id_}"] for id_ in found}
        assert ms(found) == measured
    summary = {row["boundary"]: row for row in library.rows("handoff_by_boundary")}
    assert {row["requests"] for row in summary.values()} == {requests}
    # The proxy's clock is known against wall by its own pairs only: no exact span to the engines.
    assert (summary["relay"]["n"], summary["relay"]["bounded"]) == (0, requests)
    assert summary["transfer"]["reason"] == "not_logged"


def test_where_the_token_is_forwarded_the_handoff_is_the_first_gap(library: Library) -> None:
    name = "bench_pd_forward.json.gz"
    read(library, BENCH / name, PROXY / "proxy_pd_forward.jsonl.gz", prefix="pdf-")
    found = handoffs(library, "stream")  # k is the proxy's to tell: the client's file does not
    assert found == first_gaps(name)
    assert ms(found) == (119.8, 1_068.0)
    assert handoffs(library, "ttft") == {}


def test_where_the_token_is_discarded_the_handoff_is_inside_ttft(library: Library) -> None:
    name, proxy = "bench_pd_discard.json.gz", "proxy_pd_discard.jsonl"
    read(library, BENCH / name, PROXY / proxy, prefix="pdd-")
    assert handoffs(library, "stream") == {}
    assert handoffs(library, "ttft") == first_waits(name, proxy, "pdd-")
    waits = {row["request_id"]: row["ttft_ns"] for row in library.rows("request_latency")
             if row["vantage"] == "client"}  # fmt: skip
    assert all(waits[id_] > span_ns for id_, span_ns in handoffs(library, "ttft").items())


def test_a_handoff_within_one_read_is_not_observable(library: Library) -> None:
    # The recorder sent its own ids, and keeps those of the answers.
    read(library, SSE / "sse_pd_forward.jsonl.gz", PROXY / "proxy_pd_forward.jsonl.gz", prefix="")
    found = handoffs(library, "stream")
    assert len(found) == 23
    (hidden,) = [row for row in library.rows("handoff_boundaries")
                 if row["boundary"] == "stream" and row["reason"] == "not_observable"]  # fmt: skip
    assert hidden["request_id"] == "sf-0"
    # The measured figures count it as a gap of 0.
    assert ms(found | {"sf-0": 0}) == (36.0, 445.5)


def test_causal_order_alone_bounds_what_clocks_of_one_host_tell(library: Library) -> None:
    logs = (SSE / "sse_pd_forward.jsonl.gz", PROXY / "proxy_pd_forward.jsonl.gz", SPANS)
    read(library, *logs)
    exact = handoffs(library, "engine")
    read(library, *logs, same=False)
    rows = [row for row in library.rows("handoff_boundaries")
            if row["boundary"] == "engine" and row["request_id"] in exact]  # fmt: skip
    assert len(rows) == 24
    for row in rows:
        assert row["reason"] == "clock_uncertain"
        assert row["handoff_low_ns"] < exact[row["request_id"]] < row["handoff_high_ns"]


def by_status(library: Library) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in library.rows("streams"):
        if row["vantage"] == "client":
            found.setdefault(row["status"], []).append(int(row["request_id"]))
            cut = row["status"] == "truncated"
            assert ("cut_by_other_log" in row["quality"]) == cut
    return {status: sorted(requests) for status, requests in found.items()}


def test_when_the_decode_server_dies_the_cut_answers_are_told_apart(library: Library) -> None:
    bench = BENCH / "bench_pd_decode_crash.json.gz"
    failed, whole = list(range(30, 60)), [0, 1, 2, 3, 4, 7, 8]
    read(library, bench, PROXY / "proxy_pd_decode_crash.jsonl", SPANS, prefix="pdb-")
    cut = sorted(set(range(30)) - set(whole))
    assert len(cut) == 23
    assert by_status(library) == {"completed": whole, "truncated": cut, "failed": failed}
    read(library, bench, prefix="pdb-")
    assert by_status(library) == {"completed": list(range(30)), "failed": failed}


def test_when_an_engine_dies_its_log_shows_who_was_cut(library: Library) -> None:
    """No clock is declared: what was received before what is enough."""
    bench = BENCH / "bench_engine_killed.json.gz"
    spans = SAMPLES / "otlp" / "otlp_spans_mono.jsonl.gz"
    failed = list(range(16, 30))
    read(library, bench, spans, prefix="bench-6c902489-", same=False)
    assert by_status(library) == {
        "completed": list(range(15)), "truncated": [15], "failed": failed,
    }  # fmt: skip
    read(library, bench, prefix="bench-6c902489-")
    assert by_status(library) == {"completed": list(range(16)), "failed": failed}
    (row,) = [row for row in library.rows("streams") if row["request_id"] == "15"]
    assert "end_not_seen" in row["quality"]


def test_a_bench_file_and_spans_are_set_beside_each_other(library: Library) -> None:
    """60 requests, of which the file keeps no ids; no clock of either knows the other's."""
    spans = SAMPLES / "otlp" / "otlp_spans_mono.jsonl.gz"
    bench = BENCH / "bench_low_rate.json.gz"
    read(library, bench, spans, prefix="bench-9f3b4f86-", same=False)
    rows = [row for row in library.rows("vantage_differences") if row["vantage"] == "client"]
    assert len(rows) == 60
    (document,) = records(bench)
    for row in rows:
        assert row["inner_request_id"] == f"cmpl-bench-9f3b4f86-{row['request_id']}-0"
        assert row["ttft_ns"] == round(document["ttfts"][int(row["request_id"])] * 1e9)
        assert 0 <= row["way_in_low_ns"] <= row["way_in_high_ns"]
        assert 0 <= row["way_out_low_ns"] <= row["way_out_high_ns"]
