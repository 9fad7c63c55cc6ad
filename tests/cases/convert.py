"""Turn a public case into the records a log would hold."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parent / "data"
END_KINDS: Final = {"done", "error"}

Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A case file: what was logged, the right answer, and what a careless tool says."""

    input: Record
    expect: Record
    naive: Record


def load_case(number: str) -> Case:
    (path,) = DATA.glob(f"{number}-*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    return Case(record["input"], record["expect"], record["naive"])


def event_lines(case: Case) -> list[Record]:
    """One line per event, of every request of the case."""
    return [line for request in case.input["requests"] for line in _request_lines(request)]


def _request_lines(request: Record) -> Iterator[Record]:
    events = request["events"]
    counts = request.get("client_recount_per_event") or [event["n_tokens"] for event in events]
    choices = sorted({event.get("choice", 0) for event in events}) or [0]
    facts = _facts(request, one_choice=len(choices) == 1)
    for choice in choices:
        sent = {"kind": "sent", "t_ns": request["sent_ns"]}
        yield {"request_id": request["request_id"], "choice": choice, **sent, **facts}
    for event, count in zip(events, counts, strict=True):
        yield {
            "request_id": request["request_id"],
            "choice": event.get("choice", 0),
            "kind": event["kind"],
            "t_ns": event["t_ns"],
            **({"n_tokens": count} if count else {}),
        }


def _facts(request: Record, *, one_choice: bool) -> Record:
    """What the log says of the whole request; a status only where no event ends the stream."""
    facts: Record = {"prompt_tokens": request["prompt_tokens"]}
    if END_KINDS.isdisjoint(event["kind"] for event in request["events"]):
        facts["status"] = request["status"]
    if "http" in request:
        facts["error_kind"] = f"http_{request['http']}"
    if request.get("streaming") is False:
        facts["streamed"] = False
    if request["boundary"]:
        facts["last_prefill_token"] = request["boundary"]["last_prefill_token_index"]
        facts["handoff_source"] = "log"
    if "client_recount_total" in request:
        return facts | _counted("retokenised", request["client_recount_total"])
    if one_choice and request["status"] == "completed":
        return facts | _counted("usage", request["output_tokens"])
    return facts


def _counted(source: str, output_tokens: int) -> Record:
    return {"output_tokens": output_tokens, "token_count_source": source}


def stream_line(request_id: str, times_ns: list[int], **facts: object) -> Record:
    """A completed stream sent at 0, with one token at each time."""
    stream = {"request_id": request_id, "sent_ns": 0, "times_ns": times_ns, "status": "completed"}
    return stream | facts


def streams_of_runs(prefix: str, runs: list[list[int]]) -> list[Record]:
    """One stream of one token per value, from runs of [value, how often]: its TTFT is the value."""
    values = [value for value, times in runs for _ in range(times)]
    return [stream_line(f"{prefix}{index}", [value]) for index, value in enumerate(values)]


def own_key_names(case: Case) -> list[str]:
    """The case's text with `r`, `i` spelt out; numbers and broken lines stay byte for byte."""
    lines = case.input["text"].splitlines()
    return [
        re.sub(r'^\{"r":("\w+"),"i":', r'{"request_id":\1,"kind":"token","index":', line)
        for line in lines
    ]


def vantage_lines(case: Case) -> list[Record]:
    """Case 21: one request as seen by the client, the gateway and the engine."""
    (request,) = case.input["requests"]
    seen = [
        ("client", "sent", request["client_sent_ns"]),
        ("client", "token", request["client_first_token_ns"]),
        ("gateway", "received", request["server_arrival_ns"]),
        ("engine", "arrival", request["engine_arrival_ns"]),
        ("engine", "token", request["engine_first_token_ns"]),
    ]
    ends = [(vantage, "done", request["client_first_token_ns"]) for vantage in ("client", "engine")]
    ids = {"ids": {"x_request_id": "a"}}
    return [
        {"request_id": "a", "vantage": vantage, "clock": "shared", "kind": kind, "t_ns": t_ns} | ids
        for vantage, kind, t_ns in [*seen, *ends]
    ]


def half_line(worker: str, part: str, **facts: object) -> Record:
    """What one of the two workers of request `a` logged, on its own clock unless one is named."""
    k = 1 if part == "prefill" else 0
    return {
        "request_id": f"a-{worker}",
        "vantage": "engine",
        "clock": worker,
        "status": "completed",
        f"{part}_worker": worker,
        "last_prefill_token": k,
        "handoff_source": "log",
        "ids": {f"x_request_id.{part}": "a"},
        **facts,
    }


def interval(name: str, start_ns: int, end_ns: int) -> Record:
    return {"name": name, "start_ns": start_ns, "end_ns": end_ns}


def three_clock_lines(case: Case) -> list[Record]:
    """Case 38: one request, at the router and at two workers, each on a clock of its own."""
    router, ctx, gen = (case.input["stamps"][name] for name in ("router", "ctx", "gen"))
    transfer = interval("kv_transfer", gen["kv_start_ns"], gen["kv_end_ns"])
    return [
        {
            "request_id": "a",
            "vantage": "gateway",
            "clock": "router",
            "granularity": "aggregate",
            "received_ns": router["arrival_ns"],
            "status": "completed",
            "last_prefill_token": case.input["boundary"]["last_prefill_token_index"],
            "ids": {"x_request_id": "a"},
        },
        half_line("ctx", "prefill", times_ns=[ctx["first_token_ns"]]),
        half_line("gen", "decode", times_ns=[gen["second_token_ns"]], stages=[transfer]),
    ]


STAGE_NAMES: Final = {
    "prefill_queue": "queue",
    "prefill": "prefill",
    "kv_transfer": "kv_transfer",
    "decode_queue": "decode_queue",
    "first_decode_step": "decode_first_step",
}


def staged_lines(case: Case) -> list[Record]:
    """Case 42: the events of the request, and its stages on their clock."""
    sent, *tokens = event_lines(case)
    stages = [interval(STAGE_NAMES[name], *span) for name, span in case.input["stages_ns"].items()]
    return [sent | {"stages": stages}, *tokens]


def one_clock_lines(case: Case) -> list[Record]:
    """Case 45: the user's two tokens, and what the two workers say of the time between them."""
    at = case.input["stamps_ns"]
    stages = [
        interval("relay", at["prefill_last_token"], at["decode_dispatch"]),
        interval("kv_transfer", at["kv_start"], at["kv_end"]),
        interval("decode_first_step", at["kv_end"], at["decode_first_token"]),
    ]
    first, second = at["prefill_last_token"], at["decode_first_token"]
    seen = {"clock": "shared", "last_prefill_token": 1, "ids": {"x_request_id": "a"}}
    return [
        stream_line("a", [first, second], **seen),
        half_line("p", "prefill", clock="shared", times_ns=[first]),
        half_line("d", "decode", clock="shared", times_ns=[second], stages=stages),
    ]


def indexed_lines(case: Case, clock: str) -> list[Record]:
    """Case 40: tokens with their index, stamped by one of the two clocks."""
    (request,) = case.input["requests"]
    tokens = zip(request["token_index"], request[f"{clock}_ns"], strict=True)
    sent = {"request_id": "a", "kind": "sent", "t_ns": 0, "status": "completed"}
    return [sent] + [
        {"request_id": "a", "kind": "token", "index": index, "t_ns": t_ns} for index, t_ns in tokens
    ]


def bench_document(given: Record) -> str:
    """A detailed result file of `vllm bench serve`; `given` holds ttfts, itls and what differs."""
    ttfts, itls = given["ttfts"], given["itls"]
    rows = len(ttfts)
    document = {
        "date": "20251129-120000",
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "m",
        "tokenizer_id": "m",
        "num_prompts": rows,
        "duration": 2.0,
        "completed": rows,
        "failed": 0,
        "input_lens": [16] * rows,
        "output_lens": [len(gaps) + 1 for gaps in itls],
        "latencies": [ttft + sum(gaps) for ttft, gaps in zip(ttfts, itls, strict=True)],
        "start_times": [5.0 + 0.5 * row for row in range(rows)],
        "queue_times": [0.0] * rows,
        "generated_texts": [""] * rows,
        "errors": [""] * rows,
    }
    return json.dumps(document | given)  # NaN and Infinity as Python's own writer spells them


def otlp_request(case: Case) -> Record:
    """Case 56: an export request whose one span has the events, each a chunk, as they stand."""
    events = json.loads(case.input["text"])["events"]
    times_ns = [int(event["timeUnixNano"]) for event in events]
    span = {
        "traceId": "01" * 16,
        "spanId": "02" * 8,
        "name": "openai.chat",
        "startTimeUnixNano": times_ns[0],
        "endTimeUnixNano": times_ns[-1],
        "events": [event | {"name": "gen_ai.content.completion.chunk"} for event in events],
    }
    library = {"scope": {"name": "opentelemetry.instrumentation.openai.v1"}, "spans": [span]}
    return {"resourceSpans": [{"scopeSpans": [library]}]}


def sse_capture_lines(case: Case) -> list[Record]:
    """Case 61: the recorder stamps an event with the read that completes it."""
    held = b""
    for read in case.input["reads"]:
        held += bytes.fromhex(read["hex"])
        if held.endswith(b"\n\n"):
            completed_ns = read["t_ns"]
    text = json.loads(held.removeprefix(b"data: "))["x"]
    chunk = {"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]}
    post = {"url_path": "/v1/completions", "body": {"model": "m", "stream": True}}
    records: list[Record] = [
        {"kind": "request", "t_ns": case.input["sent_ns"], "t_unix_ns": 0, **post},
        {"kind": "headers", "t_ns": case.input["reads"][0]["t_ns"], "status": 200},
        {"kind": "data", "t_ns": completed_ns, "seq": 0, "read": 2, "raw": json.dumps(chunk)},
        {"kind": "data", "t_ns": completed_ns, "seq": 1, "read": 2, "raw": "[DONE]"},
        {"kind": "end", "t_ns": completed_ns, "outcome": "done"},
    ]
    return [{"request_id": "a"} | record for record in records]
