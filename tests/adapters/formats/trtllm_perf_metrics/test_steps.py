"""Which steps of the engine made tokens, and when."""

from pathlib import Path

import pytest

from tests.adapters.formats.trtllm_perf_metrics.given import (
    CTX,
    GEN,
    MS,
    Record,
    by_vantage,
    part,
    rows,
    split,
    stages_ms,
)
from tests.adapters.reading import Row, times


def at_once(*times_s: float) -> list[Record]:
    """Steps whose tokens are there when they end."""
    return [{"iter": n, "token_time": t} for n, t in enumerate(times_s, 1)]


def late(*times_s: float | None) -> list[Record]:
    """Steps of the overlap scheduler: each tells when the tokens of the one before were there."""
    return [
        {"iter": n, "forward_start_time": 1.0, "gpu_forward_time": 4.0, "prev_batch_token_time": t}
        for n, t in enumerate(times_s, 1)
    ]


def engine(folder: Path, *steps: Record, **timing: float) -> Row:
    row, _ = by_vantage(folder, split(gen=part(GEN | timing, *steps)))
    return row


def ms(row: Row) -> list[float]:
    return [t / MS for t in times(row)]


def test_every_step_is_a_delivery_after_the_first_workers_token(tmp_path: Path) -> None:
    row = engine(tmp_path, *at_once(1.200, 1.215, 1.260))
    assert ms(row) == [1_100, 1_200, 1_215, 1_260]
    assert (row["granularity"], row["last_token_ns"], row["marks"]) == ("step", None, [])
    assert (row["output_tokens"], row["token_count_source"]) == (4, "events")
    assert row["quality"] == ["tokens_are_events"]  # a step may make several tokens
    assert stages_ms(row)["decode_first_step"] == (1_160, 1_200)


def test_the_overlap_scheduler_writes_each_time_one_step_late(tmp_path: Path) -> None:
    # Steps at 1,200 and 1,215 are told by the second and third; the third's is the last token's.
    row = engine(tmp_path, *late(1.150, 1.200, 1.215), last_token_time=1.260)
    assert ms(row) == [1_100, 1_200, 1_215, 1_260]
    assert "events_lost" not in row["quality"]


def test_a_last_step_that_ran_after_the_last_token_made_none(tmp_path: Path) -> None:
    row = engine(tmp_path, *late(1.150, 1.200, 1.260), last_token_time=1.260)
    assert ms(row) == [1_100, 1_200, 1_260]
    assert "events_lost" not in row["quality"]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (late(1.150, 1.200, 1.215), [1_100, 1_200, 1_215]),  # and no last token
        (late(1.150, None, 1.215), [1_100, 1_215]),
        ([*at_once(1.200), {"iter": 3, "token_time": 1.260}], [1_100, 1_200, 1_260]),  # no 2
    ],
)
def test_a_step_without_a_time_is_a_lost_event(
    tmp_path: Path, steps: list[Record], found: list[float]
) -> None:
    row = engine(tmp_path, *steps, last_token_time=0.0)
    assert ms(row) == found
    assert "events_lost" in row["quality"]


def test_steps_of_the_second_worker_alone(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, part(GEN, *at_once(1.200, 1.215), ctx_request_id=7))
    assert ms(row) == [1_200, 1_215]
    assert (row["last_prefill_token"], row["decode_worker"]) == (0, "gen")


def test_steps_of_a_worker_that_read_the_prompt_too(tmp_path: Path) -> None:
    # Its first token is not a step of its own, whether or not it is listed among them.
    timing = CTX | {"last_token_time": 1.130}
    for steps in (at_once(1.115, 1.130), at_once(1.100, 1.115, 1.130)):
        (row,) = rows(tmp_path, part(timing, *steps, request_id=3))
        assert ms(row) == [1_100, 1_115, 1_130]
        assert row["handoff_source"] is None


def test_steps_that_read_a_prompt_tell_the_first_worker(tmp_path: Path) -> None:
    without_end = {name: at for name, at in CTX.items() if name != "last_token_time"}
    record = part(without_end, ctx_request_id=7)
    record["time_breakdown_metrics"] = {"ctx_chunk_metrics": at_once(1.060, 1.100)}
    (row,) = rows(tmp_path, record)
    assert (row["prefill_worker"], ms(row)) == ("ctx", [1_100])
