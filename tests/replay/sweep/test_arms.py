from dataclasses import replace
from typing import Any

import pytest

from tests.replay.sweep.given import MACHINE, MODEL
from tokengap.errors import UsageError
from tokengap.replay import Chunked, Transport
from tokengap.replay.sweep.arms import (
    Choices,
    Machine,
    Matching,
    arms,
    colocated,
    refuse_unequal,
    split,
)

ONE_BUDGET = Choices(budgets=[512])
FAST = Machine("fast", MODEL, gpus=2, cost_per_hour=4.0, power_watts=800.0)
CHEAP = Machine("cheap", MODEL, gpus=1, cost_per_hour=1.0, power_watts=300.0)


def names(*machines: Machine, by: str = "gpus", total: float, **options: float) -> list[str]:
    matching = Matching(by, total, **options)  # type: ignore[arg-type]
    return [arm.name for arm in arms(machines, matching, ONE_BUDGET)]


def test_every_way_to_divide_four_gpus() -> None:
    assert names(MACHINE, total=4) == [
        "4 colocated, prefill-first",
        "4 colocated, chunked 512",
        "1P+3D",
        "2P+2D",
        "3P+1D",
    ]


def test_workers_of_two_gpus_divide_four_once() -> None:
    assert names(FAST, total=4) == [
        "2 colocated, prefill-first",
        "2 colocated, chunked 512",
        "1P+1D",
    ]


def test_pools_may_be_of_different_machines_at_equal_cost() -> None:
    """8 an hour: 2 fast ones, 8 cheap ones, or one fast (4) beside four cheap (4)."""
    found = names(FAST, CHEAP, by="cost", total=8)
    assert "1P fast+4D cheap" in found
    assert "4P cheap+1D fast" in found
    assert "2 fast colocated, prefill-first" in found
    assert "8 cheap colocated, prefill-first" in found
    assert len(found) == 2 * 2 + 1 + 1 + 1 + 7  # colocated; F+F, F+C, C+F, C+C


def test_what_does_not_come_out_even_needs_a_tolerance() -> None:
    """1000 W: one fast and no cheap leaves 200 W, which is a fifth; three cheap leave a tenth."""
    with pytest.raises(UsageError, match="cannot be divided"):
        names(FAST, CHEAP, by="power", total=1000)
    assert names(FAST, CHEAP, by="power", total=1000, tolerance=0.1) == [
        "3 cheap colocated, prefill-first",
        "3 cheap colocated, chunked 512",
        "1P cheap+2D cheap",
        "2P cheap+1D cheap",
    ]


def test_batch_limits_multiply_the_arms() -> None:
    found = arms([MACHINE], Matching("gpus", 2), Choices(budgets=[], batches=[8, None]))
    assert [arm.name for arm in found] == [
        "2 colocated, prefill-first, batch 8",
        "2 colocated, prefill-first",
        "1P+1D, batch 8",
        "1P+1D",
    ]
    assert [arm.pools.decode.max_running for arm in found] == [8, None, 8, None]


def test_an_arm_says_what_it_takes() -> None:
    arm = split((1, FAST), (3, CHEAP), Transport())
    assert [arm.takes(by) for by in ("gpus", "cost", "power")] == [5, 7, 1700]
    assert arm.sizes == (1, 3)
    assert colocated(2, FAST, Chunked(64)).sizes == (0, 2)
    assert arm.kind == "split"


def test_unequal_arms_are_refused_by_name() -> None:
    unequal = [colocated(2, MACHINE), split((1, MACHINE), (2, MACHINE), Transport())]
    with pytest.raises(UsageError, match=r"1P\+2D takes 3 of 2 GPUs"):
        refuse_unequal(unequal, Matching("gpus", 2))
    refuse_unequal(unequal[:1], Matching("gpus", 2))


@pytest.mark.parametrize(
    ("machine", "by", "says"),
    [
        (MACHINE, "cost", "need the cost of each machine"),
        (MACHINE, "power", "need the power of each machine"),
        (replace(MACHINE, gpus=8), "gpus", "m takes 8"),
    ],
)
def test_what_cannot_be_matched_is_said(machine: Machine, by: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        names(machine, by=by, total=4)


@pytest.mark.parametrize("wrong", [{"gpus": 0}, {"cost_per_hour": 0.0}, {"power_watts": -1.0}])
def test_a_machine_takes_something(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="m:"):
        replace(MACHINE, **wrong)


def test_nothing_cannot_be_divided() -> None:
    with pytest.raises(UsageError, match="give more than 0"):
        Matching("gpus", 0)
