from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES, Reading, Row, read, read_lines
from tokengap.adapters.formats.sglang_reqtimestats.server_log import SglangReqTimeStats
from tokengap.adapters.interface import Head

MS = 1_000_000
S = 1_000_000_000
DRIVEN = SAMPLES / "sglang-reqtimestats" / "reqtimestats_driven.log"
# A whole second is exact in a double.
ENTRY = "entry_time=1795951810.000"
ENTRY_NS = 1_795_951_810 * S


def line(steps: str, kind: str = "unified", head: str = "") -> str:
    return (
        f"[2026-11-29 11:30:10 TP0] ReqTimeStats(rid=r1{head}, input_len=128, cached_input_len=64, "
        f"output_len=6, attempts=0, type={kind}): {steps}"
    )


def lines(folder: Path, *found: str) -> Reading:
    return read_lines(SglangReqTimeStats(), folder, found)


def one(folder: Path, found: str) -> Row:
    (row,) = lines(folder, found).rows
    return row


def stages(row: Row) -> list[tuple[str, float | None, float]]:
    """Name, start and length in ms; the start since the entry, None where it has no place."""
    return [
        (
            s["name"],
            None if s["start_ns"] is None else (s["start_ns"] - row["arrival_ns"]) / MS,
            s["duration_ns"] / MS,
        )
        for s in row["stages"]
    ]


def test_the_columns_of_a_line(tmp_path: Path) -> None:
    # In the queue for 6.8 ms, then 294 ms in the engine: 300.8 ms in all.
    row = one(tmp_path, line(f"queue_duration=6.80ms, forward_duration=294.00ms, {ENTRY}"))
    assert (row["vantage"], row["clock_kind"], row["granularity"]) == (
        "engine",
        "wall",
        "aggregate",
    )
    assert row["arrival_ns"] == ENTRY_NS
    assert stages(row) == [("queue", 0, 6.8)]
    assert row["last_token_ns"] == row["stream_close_ns"] == ENTRY_NS + 300_800_000
    assert row["first_token_ns"] is None
    assert [(told["metric"], told["value_ns"]) for told in row["reported"]] == [
        ("forward", 294 * MS)
    ]
    assert (row["prompt_tokens"], row["cached_prompt_tokens"], row["output_tokens"]) == (128, 64, 6)
    assert (row["status"], row["quality"]) == ("completed", ["end_not_seen"])
    assert (row["handoff_source"], row["last_prefill_token"]) == ("none", None)
    assert row["prefill_worker"] == row["decode_worker"] == row["clock"]
    assert dict(row["ids"]) == {"rid": "r1", "sse_id": "r1"}


def test_the_decode_half_tiles_its_wait(tmp_path: Path) -> None:
    steps = (
        "bootstrap_duration=5.50ms, alloc_wait_duration=5.00ms, transfer_duration=119.00ms, "
        f"queue_duration=5.00ms, forward_duration=52.00ms, {ENTRY}"
    )
    row = one(tmp_path, line(steps, "decode", ", bootstrap_room=7"))
    assert stages(row) == [
        ("kv_bootstrap", 0, 10.5),
        ("kv_transfer", 10.5, 119),
        ("decode_queue", 129.5, 5),
    ]
    assert row["last_token_ns"] - ENTRY_NS == 186_500_000
    assert (row["prefill_worker"], row["decode_worker"]) == (None, row["clock"])
    assert (row["handoff_source"], row["last_prefill_token"]) == ("log", 0)
    assert dict(row["ids"]) == {"rid.decode": "r1", "sse_id": "r1", "bootstrap_room": "7"}


def test_the_prefill_half_cannot_place_what_follows_an_unlogged_wait(tmp_path: Path) -> None:
    steps = (
        f"bootstrap_duration=4.50ms, queue_duration=3.00ms, forward_duration=119.00ms, {ENTRY}, "
        "transfer_speed=4.33 GB/s, transfer_total=128.50 MB"
    )
    row = one(tmp_path, line(steps, "prefill", ", bootstrap_room=7"))
    assert stages(row) == [("kv_bootstrap", 0, 4.5), ("queue", None, 3)]
    assert (row["stream_close_ns"], row["last_token_ns"]) == (None, None)
    assert row["kv_bytes"] == 128.5 * 2**20
    assert dict(row["labels"]) == {"transfer_speed": "4.33 GB/s"}
    assert (row["prefill_worker"], row["decode_worker"]) == (row["clock"], None)
    assert (row["handoff_source"], row["last_prefill_token"]) == ("log", 1)
    assert dict(row["ids"]) == {"rid.prefill": "r1", "bootstrap_room": "7"}


def test_two_halves_in_one_log_are_two_rows(tmp_path: Path) -> None:
    room, steps = ", bootstrap_room=7", f"queue_duration=1.00ms, {ENTRY}"
    rows = lines(tmp_path, line(steps, "prefill", room), line(steps, "decode", room)).rows
    assert [row["request_id"] for row in rows] == ["r1.prefill", "r1.decode"]


def test_the_older_lines_of_either_kind(tmp_path: Path) -> None:
    # Other words, and seconds since boot.
    head = "Req Time Stats(rid=r1, bootstrap_room=7, input len=128, output len=1, type="
    prefill = one(
        tmp_path,
        f"{head}prefill): bootstrap_queue_duration(12.00ms) = bootstrap(4.50ms) + "
        "alloc_wait(7.50ms); queue_duration=3.00ms, forward_duration=100.00ms, start=5000.250, "
        "transfer_speed=4.00GB/s, transfer_total=2.00MB, #retries=0",
    )
    assert stages(prefill) == [("kv_bootstrap", 0, 12), ("queue", 12, 3)]
    assert prefill["stream_close_ns"] - prefill["arrival_ns"] == 115 * MS
    assert (prefill["clock_kind"], prefill["arrival_ns"]) == ("monotonic", 5_000_250 * MS)
    assert prefill["kv_bytes"] == 2 * 2**20
    assert prefill["quality"] == ["end_not_seen"]
    decode = one(
        tmp_path,
        f"{head}decode): prealloc_queue_duration(10.50ms) transfer_duration=119.00ms; "
        "queue_duration=5.00ms, forward_duration=52.00ms, start=5000.250",
    )
    assert [name for name, *_ in stages(decode)] == ["kv_bootstrap", "kv_transfer", "decode_queue"]
    assert decode["last_token_ns"] - decode["arrival_ns"] == 186_500_000


def test_fifty_five_years_are_no_duration(tmp_path: Path) -> None:
    row = one(
        tmp_path,
        "Req Time Stats(rid=r1, input len=38, output len=484, type=unified): "
        "queue_duration=0.00ms, forward_duration=1753355419058.33ms, start_time=0.0",
    )
    assert (row["arrival_ns"], row["stream_close_ns"], row["clock"]) == (None, None, None)
    assert (row["stages"], row["reported"]) == ([], None)
    assert row["quality"] == ["end_not_seen", "sentinel_dropped"]
    assert (row["prompt_tokens"], row["output_tokens"]) == (38, 484)


def test_a_step_from_an_entry_that_was_never_stamped_has_no_length(tmp_path: Path) -> None:
    steps = "queue_duration=5000250.00ms, forward_duration=52.00ms, start_time=0.000"
    row = one(tmp_path, line(steps))
    assert row["stages"] == []
    assert row["reported"][0]["value_ns"] == 52 * MS


def test_a_step_of_zero_was_never_measured_and_nothing_after_it_has_a_place(tmp_path: Path) -> None:
    steps = (
        "prealloc_queue_duration=1.00ms, transfer_duration=0.00ms, queue_duration=5.00ms, "
        f"forward_duration=52.00ms, {ENTRY}"
    )
    row = one(tmp_path, line(steps, "decode"))
    assert stages(row) == [("kv_bootstrap", 0, 1), ("decode_queue", None, 5)]
    assert row["last_token_ns"] is None
    assert row["quality"] == ["end_not_seen", "sentinel_dropped"]


def test_a_prefill_tried_again_has_no_places(tmp_path: Path) -> None:
    steps = f"queue_duration=5.00ms, forward_duration=52.00ms, {ENTRY}"
    row = one(tmp_path, line(steps).replace("attempts=0", "attempts=2"))
    assert stages(row) == [("queue", None, 5)]
    assert row["arrival_ns"] == ENTRY_NS
    assert dict(row["labels"]) == {"attempts": "2"}


def test_a_negative_step_is_kept_and_told(tmp_path: Path) -> None:
    row = one(tmp_path, line(f"queue_duration=-2.00ms, forward_duration=52.00ms, {ENTRY}"))
    assert stages(row) == [("queue", 0, -2)]
    assert row["last_token_ns"] - row["arrival_ns"] == 50 * MS
    assert row["quality"] == ["clock_contradiction", "end_not_seen"]


def test_other_lines_of_the_log_are_passed_over(tmp_path: Path) -> None:
    good = line(f"queue_duration=1.00ms, {ENTRY}")
    reading = lines(tmp_path, "[2026-11-29 11:30:10] Decode batch, gen throughput: 3", good, "oops")
    assert len(reading.rows) == 1
    assert reading.rows[0]["source"].endswith(":2")
    assert reading.intake.rejects == []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ("ReqTimeStats(rid=r1, inp", None),
        (line("Unknown Time Stats", "unknown"), "type"),
        (line("queue_duration=1.00ms, queue_duration=2.00ms"), "queue_duration"),
        (line("start=1.000, entry_time=1.000"), "entry_time"),
        (line(f"{ENTRY}").replace("input_len=128", f"input_len={2**40}"), "input_len"),
        (line(f"entry_time={10**11}.000"), "entry_time"),
    ],
)
def test_a_line_that_cannot_be_used_is_rejected_alone(
    tmp_path: Path, bad: str, field: str | None
) -> None:
    reading = lines(tmp_path, line(f"queue_duration=1.00ms, {ENTRY}"), bad)
    assert len(reading.rows) == 1
    (reject,) = reading.intake.rejects
    assert (reject.line, reject.field) == (2, field)


def test_a_line_that_is_rejected_takes_no_name(tmp_path: Path) -> None:
    bad = line(ENTRY).replace("output_len=6", f"output_len={2**31}")
    rows = lines(tmp_path, bad, line(ENTRY), line(ENTRY)).rows
    assert [row["request_id"] for row in rows] == ["r1", "r1#3"]


def test_lines_of_all_kinds_in_one_log(tmp_path: Path) -> None:
    # Each line lays its own steps, whatever those around it have.
    found = lines(
        tmp_path,
        line(f"queue_duration=6.80ms, forward_duration=294.00ms, {ENTRY}"),
        line(f"bootstrap_duration=4.50ms, queue_duration=3.00ms, {ENTRY}", "prefill"),
        line(f"prealloc_queue_duration=10.50ms, queue_duration=5.00ms, {ENTRY}", "decode"),
        line("queue_duration=1.00ms, entry_time=5000.250"),
    )
    assert [[(name, start) for name, start, _ in stages(row)] for row in found.rows] == [
        [("queue", 0)],
        [("kv_bootstrap", 0), ("queue", None)],
        [("kv_bootstrap", 0), ("decode_queue", None)],
        [("queue", 0)],
    ]
    assert [row["clock_kind"] for row in found.rows] == ["wall", "wall", "wall", "monotonic"]


def test_the_driven_lines() -> None:
    # The scripted run: the decode server's steps tile 3.5 ms to 190 ms after its request came.
    unified, prefill, decode = read(SglangReqTimeStats(), DRIVEN).rows
    assert stages(unified) == [("queue", 0, 6.8)]
    assert [length for *_, length in stages(decode)] == [10.5, 119, 5]
    assert decode["last_token_ns"] - decode["arrival_ns"] == 186_500_000
    rooms = [dict(row["ids"])["bootstrap_room"] for row in (prefill, decode)]
    assert rooms == [str(0x5EED1234)] * 2
    # 12 to 92 ms was the prefill and 92.5 to 131 ms the transfer: the line has one length for both.
    assert [(told["metric"], told["value_ns"]) for told in prefill["reported"]] == [
        ("forward", 119 * MS)
    ]


def test_a_log_is_known_by_such_a_line_or_by_the_switch_for_them() -> None:
    sniff = SglangReqTimeStats().sniff
    assert sniff(Head(b"[2026] server_args=A(enable_request_time_stats_logging=True)")).matches
    assert sniff(Head(b"x\n[12:00] Req Time Stats(rid=a")).matches
    assert not sniff(Head(b"[2026] server_args=A(enable_request_time_stats_logging=False)")).matches
