"""The response of gaps to prefills beside them."""

from collections.abc import Mapping

import numpy as np
import pytest

from tokengap.baseline.response import SUMMED, Blocks, Dose, Effect, blocks_of, respond

Row = tuple[int, int, Mapping[str, float]]
"""Cluster, dose step, and sums; what is left out is 0."""


def blocks(*rows: Row) -> Blocks:
    columns = {name: np.array([row[2].get(name, 0.0) for row in rows]) for name in SUMMED}
    cluster, step = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
    return blocks_of(columns, cluster, step)


def stalled(clusters: int, every: int, prefilled: int) -> Blocks:
    """Blocks of 100 gaps of 10 ms; in one of `every`, one gap of 1,000 tokens takes 110 ms more.

    prefilled: of these 120 ms (in ms), that a prefill ran.
    """
    rows: list[Row] = []
    for cluster in range(clusters):
        rows.append((cluster, 0, {"gaps": 100, "gap_ns": 1000, "step_ns": 1000}))
        if cluster % every == 0:
            long = {
                "gaps": 1, "gap_ns": 120, "step_ns": 10, "dose_tokens": 1000,
                "prefill_ns": prefilled, "excess_ns": 110, "explained_ns": min(110, prefilled),
            }  # fmt: skip
            rows.append((cluster, 10, long))
    return blocks(*rows)


def effect(found: Blocks, seed: int = 0) -> Effect:
    return respond(found, seed)[1]


def test_means_with_and_without() -> None:
    doses, found = respond(stalled(40, 4, prefilled=110))
    assert [(dose.dose_step, dose.gaps, dose.blocks) for dose in doses] == [
        (0, 4000, 40),
        (10, 10, 10),
    ]
    assert (found.gaps, found.exposed_gaps, found.exposed_blocks) == (4010, 10, 10)
    assert (found.calm_gap_ns.value, found.exposed_gap_ns.value) == (10, 120)
    assert found.added_ns_per_token.value == pytest.approx(0.11)  # 110 over 1,000 tokens
    # Prefills run 1,100 of 41,200; they cover all 1,100 of the excess.
    assert found.prefill_share == pytest.approx(1100 / 41_200)
    assert found.excess_share == pytest.approx(1100 / 41_200)
    assert found.explained_share.value == pytest.approx(1)
    assert found.is_measured


def test_excess_that_prefills_cover_by_chance_is_not_explained() -> None:
    """Half of all time is prefill, and so is half of the excess."""
    rows = [
        (n, 5, {"gaps": 10, "gap_ns": 200, "step_ns": 100, "dose_tokens": 300, "prefill_ns": 100,
                "excess_ns": 100, "explained_ns": 50})
        for n in range(30)
    ]  # fmt: skip
    assert effect(blocks(*rows)).explained_share.value == 0
    half = [(n, step, sums | {"explained_ns": 75}) for n, step, sums in rows]
    assert effect(blocks(*half)).explained_share.value == pytest.approx((0.75 - 0.5) / 0.5)


def test_where_prefills_run_all_the_time_nothing_can_be_compared() -> None:
    rows = [
        (n, 5, {"gaps": 10, "gap_ns": 200, "step_ns": 100, "dose_tokens": 300, "prefill_ns": 199,
                "excess_ns": 100, "explained_ns": 99})
        for n in range(30)
    ]  # fmt: skip
    assert effect(blocks(*rows)).explained_share.value is None


def test_calm_jitter_is_taken_off_what_prefills_add() -> None:
    """Calm gaps last 2 beyond their steps as well: of 110 beyond, 108 are the prefills'."""
    rows: list[Row] = []
    for n in range(20):
        rows.append((n, 0, {"gaps": 10, "gap_ns": 120, "step_ns": 100}))
        rows.append((n, 10, {"gaps": 1, "gap_ns": 120, "step_ns": 10, "dose_tokens": 1000}))
    assert effect(blocks(*rows)).added_ns_per_token.value == pytest.approx(0.108)


def test_no_prefill_beside_any_gap_is_no_effect() -> None:
    doses, found = respond(
        blocks(*((n, 0, {"gaps": 5, "gap_ns": 50, "step_ns": 50}) for n in range(9)))
    )
    assert len(doses) == 1
    assert (found.exposed_gaps, found.exposed_gap_ns.value) == (0, None)
    assert found.added_ns_per_token.value is None
    assert not found.is_measured


def test_nothing_at_all() -> None:
    doses, found = respond(blocks())
    assert doses == []
    assert (found.gaps, found.prefill_share, found.calm_gap_ns.value) == (0, None, None)


def test_one_stall_of_many_streams_is_one_event() -> None:
    """50 gaps of one block say no more than one: the interval is that of 8 stalls, not of 400."""
    lengths = [100, 400, 100, 400, 100, 400, 100, 400]
    together = blocks(
        *((n, 8, {"gaps": 50.0, "gap_ns": 50.0 * ns, "step_ns": 50.0 * 10, "dose_tokens": 1e4})
          for n, ns in enumerate(lengths))
    )  # fmt: skip
    apart = blocks(
        *((50 * n + m, 8, {"gaps": 1.0, "gap_ns": float(ns), "step_ns": 10.0, "dose_tokens": 200.0})
          for n, ns in enumerate(lengths) for m in range(50))
    )  # fmt: skip
    wide, narrow = (width(respond(each)[0][0]) for each in (together, apart))
    # The mean of 8 values of standard deviation 150: 2 * 1.96 * 150 / sqrt(8) = 208.
    assert wide == pytest.approx(208, rel=0.15)
    assert narrow == pytest.approx(wide / np.sqrt(50), rel=0.25)


def width(dose: Dose) -> float:
    assert dose.gap_ns.low is not None
    assert dose.gap_ns.high is not None
    return dose.gap_ns.high - dose.gap_ns.low


def test_answers_repeat() -> None:
    made = stalled(30, 3, prefilled=60)
    assert respond(made) == respond(made)
    assert effect(made, 1) != effect(made, 2)
