import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.formats.trtllm_perf_metrics.given import (
    CTX,
    GEN,
    MS,
    Record,
    by_vantage,
    part,
    reading,
    rows,
    split,
    stages_ms,
)
from tests.adapters.reading import SAMPLES, read, read_lines, times
from tokengap.adapters.formats.trtllm_perf_metrics.perf_metrics import TrtllmPerfMetrics

FOLDER = SAMPLES / "trtllm-perf-metrics"


def test_both_workers_are_one_row_of_the_engine(tmp_path: Path) -> None:
    row, _ = by_vantage(tmp_path, split())
    assert stages_ms(row) == {
        "queue": (1_012, 1_020),
        "prefill": (1_020, 1_100),
        "relay": (1_104, 1_110),
        "kv_transfer": (1_115, 1_150),
        "decode_queue": (1_112, 1_160),
        "decode_first_step": (1_160, 1_200),
    }
    assert {stage["clock"] for stage in row["stages"]} == {row["clock"]}
    assert [stage["worker"] for stage in row["stages"]] == [
        "c:1", "c:1", None, "g:1", "g:1", "g:1",
    ]  # fmt: skip
    assert (row["prefill_worker"], row["decode_worker"]) == ("c:1", "g:1")
    assert (row["last_prefill_token"], row["handoff_source"]) == (1, "log")
    assert (row["arrival_ns"], row["first_token_ns"]) == (1_010 * MS, 1_100 * MS)
    assert (row["granularity"], row["gaps_ns"], row["output_tokens"]) == ("aggregate", None, None)
    assert (row["last_token_ns"], row["kv_bytes"]) == (1_260 * MS, 4_096)
    assert row["marks"] == [{"kind": "decode_first_token", "t_ns": 1_200 * MS}]
    assert (row["status"], row["quality"], row["clock_kind"]) == ("completed", [], "monotonic")


def test_the_server_is_a_row_of_the_gateway(tmp_path: Path) -> None:
    engine, row = by_vantage(tmp_path, split(disagg_ctx_dispatch_time=1.006))
    assert (row["received_ns"], row["first_token_ns"]) == (1_000 * MS, 1_205 * MS)
    assert stages_ms(row) == {"queue": (1_000, 1_006)}
    assert (row["request_id"], row["clock"]) == (engine["request_id"], engine["clock"])
    assert (row["gaps_ns"], row["last_token_ns"]) == (None, None)


@pytest.mark.parametrize(("first_token", "k"), [(1.205, 0), (1.110, 0), (1.107, 1)])
def test_what_the_server_hands_out_before_it_asks_the_second_worker_is_the_firsts(
    tmp_path: Path, first_token: float, k: int
) -> None:
    _, row = by_vantage(tmp_path, split(disagg_server_first_token_time=first_token))
    assert (row["last_prefill_token"], row["handoff_source"]) == (k, "log")


def test_ids_are_shared_and_keep_their_digits(tmp_path: Path) -> None:
    engine, gateway = by_vantage(tmp_path, split())
    ids = {"ctx_request_id": "7", "disagg_request_id": "1152921504606846977"}  # 2^60 + 1
    assert dict(engine["ids"]) == dict(gateway["ids"]) == ids
    assert engine["request_id"] == "1152921504606846977"
    without = split(part(CTX, request_id="three"), part(GEN))
    engine, gateway = by_vantage(tmp_path, without)
    assert engine["request_id"] == "three"
    assert engine["ids"] == gateway["ids"]
    (value,) = dict(engine["ids"]).values()
    assert value == f"{engine['clock']}:three"  # no other file's request is called the same


@pytest.mark.parametrize(
    ("status", "found", "kind", "quality"),
    [
        ("complete", "completed", None, []),
        (None, "completed", None, ["end_not_seen"]),
        ("error", "failed", "error", []),
    ],
)
def test_status(
    tmp_path: Path, status: str | None, found: str, kind: str | None, quality: list[str]
) -> None:
    for row in by_vantage(tmp_path, split(status=status)):
        assert (row["status"], row["error_kind"], row["quality"]) == (found, kind, quality)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ctx_perf_metrics": part(CTX | {"server_arrival_time": 0.999})},
        {"gen_perf_metrics": part(GEN | {"server_arrival_time": 1.103})},
        {"gen_perf_metrics": part(GEN | {"arrival_time": 1.116})},
        {"gen_perf_metrics": part(GEN | {"kv_cache_transfer_end": 1.114})},
        {"gen_perf_metrics": part(GEN | {"first_scheduled_time": 1.149})},
    ],
)
def test_stamps_out_of_order_put_every_worker_on_a_clock_of_its_own(
    tmp_path: Path, wrong: Record
) -> None:
    prefill, decode, gateway = rows(tmp_path, split(**wrong))
    clock = gateway["clock"]
    assert (prefill["clock"], decode["clock"]) == (f"{clock}:c:1", f"{clock}:g:1")
    for row in (prefill, decode):
        assert {stage["clock"] for stage in row["stages"]} == {row["clock"]}
    assert (prefill["prefill_worker"], prefill["decode_worker"]) == ("c:1", None)
    assert (decode["prefill_worker"], decode["decode_worker"]) == (None, "g:1")
    assert (prefill["last_prefill_token"], decode["last_prefill_token"]) == (1, 0)
    assert (gateway["last_prefill_token"], gateway["handoff_source"]) == (None, None)
    found = [row["request_id"] for row in (prefill, decode, gateway)]
    assert found == [f"{gateway['request_id']}{half}" for half in ("-ctx", "-gen", "")]
    assert prefill["ids"] == decode["ids"] == gateway["ids"]
    for row in (prefill, decode, gateway):
        assert row["quality"] == ["clock_contradiction"]


def test_stamps_at_one_instant_are_in_order(tmp_path: Path) -> None:
    together = {"arrival_time": 1.115, "kv_cache_transfer_end": 1.160}
    gen = part(GEN | together | {"server_arrival_time": 1.104})
    row, _ = by_vantage(tmp_path, split(part(CTX), gen))
    assert row["quality"] == []


@pytest.mark.parametrize("none", [0.0, -1.0, None])
def test_a_placeholder_is_no_time(tmp_path: Path, none: float | None) -> None:
    kv = {"kv_cache_transfer_start": none, "kv_cache_transfer_end": none, "kv_cache_size": 0}
    row, _ = by_vantage(tmp_path, split(part(CTX), part(GEN | kv)))
    assert "kv_transfer" not in stages_ms(row)
    assert row["kv_bytes"] is None
    assert row["quality"] == ([] if none is None else ["sentinel_dropped"])


def test_without_the_first_workers_record_half_a_request_is_left(tmp_path: Path) -> None:
    decode, gateway = by_vantage(tmp_path, split() | {"ctx_perf_metrics": None})
    assert (decode["prefill_worker"], decode["decode_worker"]) == (None, "g:1")
    assert decode["request_id"] == f"{gateway['request_id']}-gen"
    assert (decode["last_prefill_token"], gateway["last_prefill_token"]) == (0, None)
    assert (decode["first_token_ns"], decode["last_token_ns"]) == (1_200 * MS, 1_260 * MS)


def test_without_the_second_workers_record_half_a_request_is_left(tmp_path: Path) -> None:
    prefill, gateway = by_vantage(tmp_path, split() | {"gen_perf_metrics": None})
    assert (prefill["prefill_worker"], prefill["decode_worker"]) == ("c:1", None)
    assert prefill["request_id"] == f"{gateway['request_id']}-ctx"
    assert (times(prefill), prefill["output_tokens"]) == ([1_100 * MS], 1)
    assert gateway["last_prefill_token"] is None


def test_the_id_that_a_benchmark_of_second_workers_always_gives_joins_nothing(
    tmp_path: Path,
) -> None:
    gen = part(GEN, request_id=4, ctx_request_id=1)
    decode, gateway = by_vantage(tmp_path, split(gen=gen) | {"ctx_perf_metrics": None})
    assert list(dict(decode["ids"])) == ["trtllm_request_id"]
    assert gateway["request_id"] == "4"
    both, _ = by_vantage(tmp_path, split(part(CTX, ctx_request_id=1), gen))
    assert dict(both["ids"]) == {"ctx_request_id": "1"}


def test_a_worker_by_itself_is_its_half(tmp_path: Path) -> None:
    ids = {"request_id": 3, "ctx_request_id": 7, "status": "complete"}
    (prefill,) = rows(tmp_path, part(CTX, **ids))
    (decode,) = rows(tmp_path, part(GEN, **ids | {"request_id": 9}))
    assert (prefill["request_id"], decode["request_id"]) == ("7-ctx", "7-gen")
    assert (prefill["prefill_worker"], prefill["decode_worker"]) == ("ctx", None)
    assert (decode["prefill_worker"], decode["decode_worker"]) == (None, "gen")
    assert prefill["ids"] == decode["ids"] == [("ctx_request_id", "7")]
    assert stages_ms(prefill) == {"queue": (1_012, 1_020), "prefill": (1_020, 1_100)}
    assert list(stages_ms(decode)) == ["kv_transfer", "decode_queue", "decode_first_step"]
    assert (decode["arrival_ns"], decode["kv_bytes"]) == (1_110 * MS, 4_096)


def test_a_worker_of_no_split_deployment(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, part(CTX | {"last_token_time": 1.5}, request_id=3))
    assert (row["request_id"], row["ids"]) == ("3", [])
    assert (row["prefill_worker"], row["decode_worker"]) == (None, None)
    assert (row["last_prefill_token"], row["handoff_source"]) == (None, None)
    assert (row["first_token_ns"], row["last_token_ns"]) == (1_100 * MS, 1_500 * MS)


def test_records_of_several_ranks_count_once(tmp_path: Path) -> None:
    copy = split(part(CTX | {"arrival_time": 1.0121}))
    found = reading(tmp_path, split(), copy)
    assert len(found.rows) == 2
    (reject,) = found.intake.rejects
    assert (reject.line, reject.reason) == (
        1, "another record of the same request and time came before",
    )  # fmt: skip


def test_an_id_that_begins_again_after_a_restart_is_another_request(tmp_path: Path) -> None:
    later = {name: 9.0 + at for name, at in CTX.items()}
    found = reading(tmp_path, part(CTX, request_id=3), part(later, request_id=3))
    assert found.intake.rejects == []
    assert [row["request_id"] for row in found.rows] == ["3", "3#1"]
    assert [row["attempt"] for row in found.rows] == [0, 0]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"ctx_server": "c", "gen_server": "g"}, "perf_metrics"),
        (part({}), "perf_metrics"),
        (part(CTX | {"first_token_time": "1.1"}), "perf_metrics.timing_metrics.first_token_time"),
        (part(CTX | {"first_token_time": 1e300}), "first_token_time"),
        (part(GEN | {"kv_cache_size": -1}), "perf_metrics.timing_metrics.kv_cache_size"),
        ([1], None),
    ],
)
def test_a_record_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: object, field: str | None
) -> None:
    good = [part(CTX, request_id=1), part(CTX, request_id=2)]
    found = reading(tmp_path, good[0], bad, good[1])
    assert [row["request_id"] for row in found.rows] == ["1", "2"]
    (reject,) = found.intake.rejects
    assert (reject.line, reject.field) == (1, field)
    by_line = read_lines(TrtllmPerfMetrics(), tmp_path, [good[0], bad, good[1]])
    assert [reject.line for reject in by_line.intake.rejects] == [2]


def test_arrays_that_were_scraped_one_after_another(tmp_path: Path) -> None:
    path = tmp_path / "scraped.json"
    arrays = [[part(CTX, request_id=1)], [], [part(CTX, request_id=2)]]
    path.write_text("".join(json.dumps(array) for array in arrays))
    assert [row["request_id"] for row in read(TrtllmPerfMetrics(), path).rows] == ["1", "2"]


def test_the_published_record_of_both_workers() -> None:
    engine, gateway = read(TrtllmPerfMetrics(), FOLDER / "perf_metrics_disagg_doc.json").rows
    assert stages_ms(engine) == {
        "queue": (2_003, 2_008),
        "prefill": (2_008, 2_035),
        "relay": (2_038, 2_050),
        "decode_queue": (2_052, 2_055),
        "decode_first_step": (2_055, 2_080),
    }
    assert gateway["first_token_ns"] - gateway["received_ns"] == 95 * MS  # 2.090 - 1.995 s


def test_the_published_record_with_a_step() -> None:
    # Its only step has no time of its own and no last token follows: no delivery is known.
    path = FOLDER / "perf_metrics_step_metrics_doc.json"
    engine, gateway = read(TrtllmPerfMetrics(), path).rows
    assert (engine["gaps_ns"], engine["first_token_ns"]) == (None, 1_500 * MS)
    assert engine["marks"] == [{"kind": "decode_first_token", "t_ns": 2_500 * MS}]
    assert (gateway["received_ns"], gateway["first_token_ns"]) == (500 * MS, 3_000 * MS)


def test_an_answer_of_triton(tmp_path: Path) -> None:
    answer: dict[str, Any] = {
        "acceptance_rate": "0.0",
        "arrival_time_ns": "76735247746000",
        "first_scheduled_time_ns": "76735248284000",
        "first_token_time_ns": "76735374300000",
        "last_token_time_ns": "76736545324000",
        "model_name": "tensorrt_llm",
        "text_output": "secret",
    }
    (row,) = read_lines(TrtllmPerfMetrics(), tmp_path, [answer]).rows
    assert (row["arrival_ns"], row["first_token_ns"]) == (76_735_247_746_000, 76_735_374_300_000)
    assert row["last_token_ns"] == 76_736_545_324_000
    queue, prefill = row["stages"]
    assert (queue["duration_ns"], prefill["duration_ns"]) == (538_000, 126_016_000)
    assert (row["vantage"], row["model"], row["request_id"]) == ("engine", "tensorrt_llm", "0")
    assert "secret" not in str(row)
    for wrong in ("1.5", "-3", "x"):
        found = read_lines(
            TrtllmPerfMetrics(), tmp_path, [answer, answer | {"arrival_time_ns": wrong}]
        )
        (reject,) = found.intake.rejects
        assert (reject.field, reject.value) == ("arrival_time_ns", wrong)
