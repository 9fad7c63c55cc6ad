import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.otlp.building import Record, at, read, read_files, request, span, write
from tests.adapters.reading import SAMPLES, Row, marks, times
from tokengap.adapters.formats.otlp import adapter
from tokengap.adapters.formats.otlp.shelf import Shelf

FOLDER = SAMPLES / "otlp"
HOST = "0123456789abcdef0123456789abcdef"
CLOCK = "sglang:3eb1bd439947:42"  # so begins the sha256 of the host's id
ROOT, API, WORKER, FORWARD = 1, 2, 3, 4


def scheduler(number: int = WORKER, parent: int = ROOT, **plain: object) -> Record:
    facts: dict[str, object] = {"host_id": HOST, "pid": 42, "thread_label": "Scheduler"}
    return span("Scheduler [TP 0]", 1, 290, number, parent, plain=facts | {"tp_rank": 0} | plain)


def stage(name: str, start_ms: float, end_ms: float, number: int, **raw: Any) -> Record:
    return span(name, start_ms, end_ms, number, **{"parent": WORKER} | raw)


def step(count: int, end_ms: float, number: int | None = None, parent: int = FORWARD) -> Record:
    plain = {"decode_ct": count}
    return span("decode_loop", end_ms - 1, end_ms, number or 100 + count, parent, plain=plain)


def unified(name: str = " Req rid-1", /, **facts: Any) -> list[Record]:
    """Prefill until 60 ms, steps that end at 88, 100, 112 ms, all over at 300 ms."""
    api = {"host_id": HOST, "pid": 41, "thread_label": "Tokenizer"}
    root: dict[str, object] = {
        "rid": "rid-1",
        "module": "sglang::request",
        "gen_ai.latency.time_to_first_token": 0.0625,
        "gen_ai.latency.e2e": 0.25,
    }
    return [
        span(name, 0, 300, ROOT, plain=root | facts),
        span("Tokenizer", 0, 1, API, ROOT, plain=api),
        scheduler(),
        stage("prefill_waiting", 2, 10, 10),
        stage("prefill_forward", 10, 60, 11, events=[("schedule", 10)]),
        stage("decode_waiting", 60, 75, 12),
        stage("decode_forward", 75, 112, FORWARD),
        *(step(count, end_ms) for count, end_ms in enumerate((88, 100, 112))),
    ]


def half(role: str, *stages: Record) -> list[Record]:
    found = unified(f" {role} Req rid-1", bootstrap_room="0x5eed1234")
    return [*found[:3], *stages]


def exported(*spans: Record) -> Record:
    return request("sglang server", spans)


def one(folder: Path, *spans: Record) -> Row:
    (row,) = read(folder, exported(*spans)).rows
    return row


def without(spans: list[Record], *numbers: int) -> list[Record]:
    gone = {f"{number:016x}" for number in numbers}
    return [each for each in spans if each["spanId"] not in gone]


def in_ms(row: Row) -> list[float]:
    return [(t_ns - at(0)) / 1e6 for t_ns in times(row)]


def test_the_columns_of_a_request(tmp_path: Path) -> None:
    row = one(tmp_path, *unified())
    assert (row["request_id"], row["vantage"], row["granularity"]) == ("rid-1", "engine", "step")
    assert in_ms(row) == [60, 88, 100, 112]
    assert (row["output_tokens"], row["token_count_source"]) == (4, "events")
    assert (row["arrival_ns"], row["stream_close_ns"]) == (at(0), at(300))
    assert (row["clock"], row["clock_kind"]) == (CLOCK, "wall")
    assert (row["prefill_worker"], row["decode_worker"]) == (CLOCK, CLOCK)
    assert (row["last_prefill_token"], row["handoff_source"]) == (None, "none")
    assert [(s["name"], s["start_ns"], s["end_ns"], s["clock"]) for s in row["stages"]] == [
        ("queue", at(2), at(10), CLOCK),
        ("prefill", at(10), at(60), CLOCK),
        ("decode_queue", at(60), at(75), CLOCK),
        ("decode_first_step", at(87), at(88), CLOCK),
    ]
    assert [(r["metric"], r["value_ns"]) for r in row["reported"]] == [
        ("ttft", 62_500_000), ("e2e", 250_000_000),
    ]  # fmt: skip
    assert row["marks"] == [{"kind": "scheduled", "t_ns": at(10)}]
    assert (row["status"], row["quality"]) == ("completed", ["tokens_are_events"])
    assert dict(row["ids"]) == {"rid": "rid-1", "sse_id": "rid-1", "trace_id": f"{1:032x}"}


def test_the_host_is_not_named(tmp_path: Path) -> None:
    found = read(tmp_path, exported(*unified()))
    (clock,) = found.intake.clocks
    assert (clock.id, clock.reference, clock.offset_ns) == (CLOCK, CLOCK.rpartition(":")[0], 0)
    assert HOST not in json.dumps([*found.rows, *map(str, found.intake.clocks)], default=str)


def test_tokens_the_server_counted_are_counted(tmp_path: Path) -> None:
    usage: dict[str, Any] = {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.cached_tokens": 8}
    row = one(tmp_path, *unified(**usage, **{"gen_ai.usage.completion_tokens": 4}))
    assert (row["output_tokens"], row["token_count_source"]) == (4, "usage")
    assert (row["prompt_tokens"], row["cached_prompt_tokens"], row["quality"]) == (9, 8, [])


@pytest.mark.parametrize("gone", [{101}, {100}, {11}, {FORWARD}, {WORKER}, {100, 101}], ids=str)
def test_a_dropped_span_makes_no_stall(tmp_path: Path, gone: set[int]) -> None:
    # Without step 1 a naive reader sees a gap of 24 ms, without `decode_forward` no step at all.
    row = one(tmp_path, *without(unified(), *gone))
    assert (row["gaps_ns"], row["granularity"]) == (None, "aggregate")
    assert "events_lost" in row["quality"]


def test_a_hole_leaves_first_last_and_count(tmp_path: Path) -> None:
    row = one(tmp_path, *without(unified(), 101))
    assert (row["first_token_ns"], row["last_token_ns"]) == (at(60), at(112))
    assert (row["output_tokens"], row["token_count_source"]) == (4, "events")


def test_without_the_prefill_the_first_token_is_the_api_servers(tmp_path: Path) -> None:
    row = one(tmp_path, *without(unified(), 11))
    assert row["first_token_ns"] == at(62.5)


def test_two_steps_of_one_number_are_not_believed(tmp_path: Path) -> None:
    row = one(tmp_path, *unified(), step(1, 101, 999))
    assert (row["gaps_ns"], "events_lost" in row["quality"]) == (None, True)


def test_a_span_that_was_exported_twice_counts_once(tmp_path: Path) -> None:
    row = one(tmp_path, *unified(), step(1, 100))
    assert in_ms(row) == [60, 88, 100, 112]
    assert "duplicate_dropped" in row["quality"]


@pytest.mark.parametrize("ranks", [("tp_rank", 1, 0), ("pp_rank", 1, 0), ("tp_rank", 3, 2)])
def test_of_all_ranks_the_lowest_counts(tmp_path: Path, ranks: tuple[str, int, int]) -> None:
    # With data-parallel attention, a request's lowest rank need not be 0.
    name, high, low = ranks
    found = unified()
    found[2] = scheduler(**{name: low})
    other = [
        scheduler(30, **{name: high}),
        stage("prefill_forward", 10, 61, 31, parent=30),
        stage("decode_forward", 75, 113, 32, parent=30),
        *(step(n, end, 200 + n, 32) for n, end in enumerate((89, 101, 113))),
    ]
    row = one(tmp_path, *other, *found)
    assert in_ms(row) == [60, 88, 100, 112]
    assert "duplicate_dropped" in row["quality"]


def test_a_lower_trace_level_has_first_and_last(tmp_path: Path) -> None:
    row = one(tmp_path, *without(unified(), 100, 101, 102))
    assert (row["gaps_ns"], row["granularity"], row["output_tokens"]) == (None, "aggregate", None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (at(60), at(112))
    assert row["quality"] == []


def test_an_answer_of_one_token(tmp_path: Path) -> None:
    row = one(tmp_path, *without(unified(), 12, FORWARD, 100, 101, 102))
    assert (in_ms(row), row["output_tokens"], row["gaps_ns"]) == ([60], 1, [])


def test_a_retracted_request_is_prefilled_again(tmp_path: Path) -> None:
    # Retracted at 105 ms; its second prefill ends at 200 ms with a token, the next step at 212.
    again = stage("prefill_forward", 150, 200, 20, parent=FORWARD, events=[("retract", 105)])
    found = [*without(unified(), 102), again, step(2, 212)]
    row = one(tmp_path, *found)
    assert in_ms(row) == [60, 88, 100, 200, 212]
    assert marks(row) == ["scheduled", "preempted"]
    assert row["marks"][1]["t_ns"] == at(105)
    lost = one(tmp_path, *without(found, 20), stage("x", 90, 110, 21, events=[("retract", 105)]))
    assert (lost["gaps_ns"], "events_lost" in lost["quality"]) == (None, True)


def test_a_second_prefill_in_chunks_ends_with_its_last(tmp_path: Path) -> None:
    chunks = [
        stage("chunked_prefill", start, end, number, parent=FORWARD)
        for start, end, number in ((150, 170, 20), (170, 200, 21))
    ]
    own = stage("chunked_prefill", 10, 40, 22, parent=11)
    row = one(tmp_path, *without(unified(), 102), own, *chunks, step(2, 212))
    assert in_ms(row) == [60, 88, 100, 200, 212]


def test_an_aborted_request(tmp_path: Path) -> None:
    found = unified()
    found[2] = scheduler(type="abort", err_type="AbortedError", message="m", status_code=503)
    found[2] |= {"status": {"code": 2}}
    row = one(tmp_path, *found)
    assert (row["status"], row["error_kind"]) == ("rejected", "AbortedError")
    assert in_ms(row) == [60, 88, 100, 112]
    early = one(tmp_path, *found[:4])
    assert (early["status"], early["gaps_ns"], early["first_token_ns"]) == ("rejected", [], None)


def test_halves(tmp_path: Path) -> None:
    # The token computed at 60 ms is passed on at 90 ms, the first new one is there at 105 ms.
    prefill = half("prefill", *unified()[3:5], stage("prefill_transfer_kv_cache", 61, 80, 20))
    decode = half(
        "decode",
        stage("decode_bootstrap", 2, 15, 21),
        stage("decode_transferred", 15, 85, 22),
        stage("decode_waiting", 85, 89, 23),
        stage("decode_forward", 89, 117, FORWARD),
        stage("fake_output", 89, 90, 24, parent=FORWARD),
        step(0, 105),
        step(1, 117),
    )
    first = one(tmp_path, *prefill)
    second = one(tmp_path, *decode)
    assert (first["request_id"], second["request_id"]) == ("rid-1.prefill", "rid-1.decode")
    assert (in_ms(first), in_ms(second)) == ([60], [90, 105, 117])
    assert {dict(row["ids"])["bootstrap_room"] for row in (first, second)} == {"1592594996"}
    assert [(r["last_prefill_token"], r["handoff_source"]) for r in (first, second)] == [
        (1, "log"), (0, "log"),
    ]  # fmt: skip
    assert (first["prefill_worker"], first["decode_worker"]) == (CLOCK, None)
    assert (second["prefill_worker"], second["decode_worker"]) == (None, CLOCK)
    assert [s["name"] for s in first["stages"]] == ["queue", "prefill", "kv_transfer"]
    assert [s["name"] for s in second["stages"]] == [
        "kv_bootstrap", "kv_transfer", "decode_queue", "decode_first_step",
    ]  # fmt: skip
    # On the prefill server, the "first token" of the root span is the end of all.
    assert [r["metric"] for r in first["reported"]] == ["e2e"]
    assert (first["output_tokens"], first["quality"]) == (1, [])


def test_a_decode_half_at_a_lower_level_has_the_api_servers_first_token(tmp_path: Path) -> None:
    row = one(tmp_path, *half("decode", stage("decode_forward", 89, 117, FORWARD)))
    assert (row["first_token_ns"], row["last_token_ns"]) == (at(62.5), at(117))


def test_a_scheduler_on_another_host_has_no_arrival(tmp_path: Path) -> None:
    found = unified()
    found[2] = scheduler(host_id="elsewhere")
    row = one(tmp_path, *found)
    assert (row["arrival_ns"], row["stream_close_ns"]) == (None, None)
    assert in_ms(row) == [60, 88, 100, 112]


def test_spans_without_their_root_are_refused_once(tmp_path: Path) -> None:
    found = read(tmp_path, exported(*unified()[1:]))
    assert found.rows == []
    (reject,) = found.intake.rejects
    assert reject.reason.startswith("the root span of this request is not in the log, 9 others")


def test_a_request_may_be_spread_over_lines_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = unified()
    monkeypatch.setattr(adapter, "Shelf", partial(Shelf, 3))
    whole = one(tmp_path, *found)
    first = write(tmp_path / "a.jsonl", *map(exported, found[3:8]))
    second = write(tmp_path / "b.jsonl", exported(*found[8:], *found[:3]))
    (row,) = read_files([first, second]).rows
    assert row["trace"] == "b"
    assert {**row, "trace": "", "source": ""} == {**whole, "trace": "", "source": ""}
    (named,) = read_files([first, second], trace="run").rows
    assert named["trace"] == "run"


def test_one_id_twice_is_two_attempts_in_order_of_arrival(tmp_path: Path) -> None:
    earlier, later = (
        [each | {"traceId": f"{trace:032x}"} for each in unified()] for trace in (1, 2)
    )
    later[0] = later[0] | {"startTimeUnixNano": str(at(0) + 1)}
    rows = read(tmp_path, exported(*later), exported(*earlier)).rows
    assert {(row["attempt"], row["arrival_ns"] - at(0)) for row in rows} == {(0, 0), (1, 1)}


def test_a_room_that_is_no_number_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, exported(*unified(bootstrap_room="room")))
    assert found.intake.rejects[0].field == "bootstrap_room"


def driven(name: str) -> Row:
    (row,) = read_files([FOLDER / f"{name}_otlp_driven.json"]).rows
    return row


def test_gaps_of_the_library_itself() -> None:
    # Scripted: steps end 28, 12, 12, 180, 12 ms apart; by duration the first would be 13 ms.
    gaps_ms = [gap / 1e6 for gap in driven("unified")["gaps_ns"]]
    assert gaps_ms == pytest.approx([28, 12, 12, 180, 12], abs=0.0005)


def test_handoff_of_the_library_itself() -> None:
    prefill, decode = driven("prefill"), driven("decode")
    assert dict(prefill["ids"])["bootstrap_room"] == dict(decode["ids"])["bootstrap_room"]
    assert prefill["clock"] == decode["clock"]
    passed_on, new = times(decode)[:2]
    assert (passed_on - prefill["first_token_ns"]) / 1e6 == pytest.approx(47.5, abs=0.0005)
    assert (new - prefill["first_token_ns"]) / 1e6 == pytest.approx(63.0, abs=0.0005)


def test_an_answer_that_the_prefill_server_ended_has_no_step_on_the_other(tmp_path: Path) -> None:
    row = one(tmp_path, *half("decode", stage("quick_finish", 10, 20, 20)))
    assert (row["gaps_ns"], row["last_token_ns"], row["status"]) == (None, None, "completed")
    assert row["first_token_ns"] == at(62.5)
