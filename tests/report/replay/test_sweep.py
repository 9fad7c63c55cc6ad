"""A sweep in words: what flips it, what it costs, and what carries no recommendation."""

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.replay.sweep.given import MACHINE, arm, evenly, limit, swept, trial
from tokengap.replay.sweep import Capacity, Case, Machine, Matching, Swept, colocated
from tokengap.replay.sweep.flips import Flip
from tokengap.replay.sweep.validate import Compared, Validation
from tokengap.report.document import as_json
from tokengap.report.replay.sweep import SweepReport, cost_per_good
from tokengap.report.replay.sweep_text import flip_lines, summary
from tokengap.report.replay.sweep_text import swept as documented

CASE: Final = Case(evenly(100, 250.0), [limit("worst_gap", 100)])


def report(*found: Swept, **changed: Any) -> SweepReport:
    made = SweepReport(CASE, Matching("gpus", 1), found, {}, target=0.9, flips=())
    return replace(made, **changed)


def flip(knob: str, setting: str, advice: str, *, flips: bool) -> Flip:
    return Flip(knob, setting, None, advice, flips)


def test_what_flips_it_says_where_it_holds() -> None:
    found = report(
        swept(arm("colocated"), [90] * 20),
        flips=[
            flip("bandwidth", "x0.5", "chunk first", flips=True),
            flip("bandwidth", "x2", "separate", flips=False),
            flip("overhead", "1 ms", "separate", flips=False),
        ],
    )
    assert list(flip_lines(found)) == [
        "bandwidth: holds at x2; chunk first at x0.5",
        "overhead: holds at 1 ms",
    ]


def test_a_good_request_costs_what_all_workers_cost_in_its_time() -> None:
    """Two workers at 36 an hour are 0.02 a second; 4 good requests a second cost 0.005 each."""
    paid = Machine("m", MACHINE.model, cost_per_hour=36.0)
    two = Swept(colocated(2, paid), [trial(4, goodput_per_s=4.0)] * 20)
    assert cost_per_good(two) == pytest.approx(0.005)
    assert cost_per_good(swept(arm("colocated"), [4] * 20)) is None  # nobody said what it costs


def test_an_arm_beyond_what_was_seen_carries_no_recommendation() -> None:
    arms = [swept(arm("colocated"), [10] * 20), swept(arm("split"), [90] * 20)]
    known = report(*arms)
    assert summary(known).startswith("Separate: split keeps 90.0 %")
    assert known.is_supported
    beyond = report(*arms, doubts=["split is extrapolated: running 90 is over 1.5 times 32"])
    assert summary(beyond).startswith("No recommendation, for the model was fitted on less load")
    assert not beyond.is_supported


def test_a_model_that_does_not_make_its_baseline_supports_nothing() -> None:
    wrong = Validation([Compared("ttft p50", 1.0, 2.0, 1.0, None, reproduced=False)], {})
    found = report(swept(arm("split"), [90] * 20), validation=wrong)
    assert not found.is_supported
    record = json.loads(as_json(documented(found)))
    assert record["recommendation"]["supported"] is False
    assert record["validation"]["reproduced"] is False
    assert documented(found).text.startswith("The baseline as it was")


def test_the_contract() -> None:
    arms = [swept(arm("colocated"), [50] * 20), swept(arm("split"), [80] * 20)]
    found = report(*arms, capacities={"split": Capacity(3.5), "colocated": Capacity(None)})
    record = json.loads(as_json(documented(found)))
    assert record["schema"] == "tokengap.replay/1"
    first, second = record["arms"]
    assert (first["name"], first["good"], first["offered"]) == ("split", 1600, 2000)
    assert (first["attainment"], first["low"], first["high"]) == (0.8, 0.8, 0.8)
    assert (first["max_rate_per_s"], second["max_rate_per_s"]) == (3.5, None)
    assert first["queue_growth"] == {"prefill": 0.0, "decode": 0.0}
    assert record["rankings"] == {"worst_gap": ["split", "colocated"]}
    assert record["recommendation"]["arm"] == "split"
