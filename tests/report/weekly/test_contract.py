"""`tokengap.weekly/1`: the fields that programs rely on, by arithmetic from the example."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.cases.commands import strict_json
from tests.report.weekly.example import budget, chat, code, empty, single, weekly
from tokengap.report.weekly.contract import contract, contract_text

OBJECTIVE = {
    "name", "offered", "good", "attainment", "low", "high", "target", "budget_spent_share",
    "budget_left_share", "burn", "change",
}  # fmt: skip


def objective(made: Any, service: int, number: int) -> Any:
    return made["services"][service]["objectives"][number]


def test_it_has_what_was_promised_of_it() -> None:
    made = strict_json(contract_text(weekly()))
    assert (made["schema"], made["week"], made["store_version"]) == (
        "tokengap.weekly/1", "2026-W48", 412,
    )  # fmt: skip
    assert next(iter(made)) == "schema"
    assert {"name", "coverage_share", "objectives"} <= made["services"][0].keys()
    for service in made["services"]:
        for found in service["objectives"]:
            assert found.keys() >= OBJECTIVE
            assert {"verdict", "raw", "matched", "low", "high"} <= found["change"].keys()


def test_counts_budget_and_change_of_a_missed_promise() -> None:
    found = objective(strict_json(contract_text(weekly())), 0, 0)
    assert (found["offered"], found["good"], found["missed"], found["unknown"]) == (
        40_000, 39_280, 700, 20,
    )  # fmt: skip
    assert found["attainment"] == 39_280 / 40_000
    assert found["kept"] is False
    assert found["limit_ns"] == 500_000_000
    assert found["budget_spent_share"] == 720 / 1600
    assert found["budget_left_share"] == (1600 - 1100 - 720) / 1600
    assert found["burn"][0]["hours_over"] == 3
    assert found["burn"][0]["worst_until"] == "2026-11-25T15:00:00Z"
    assert found["change"]["verdict"] == "worse"
    assert found["change"]["value_ratio"]["matched"] == 1.11


def test_what_cannot_be_measured_is_null() -> None:
    made = strict_json(contract_text(weekly(empty())))
    assert made["services"][0]["coverage_share"] == 0  # 0 of 168 hours: measured
    found = objective(made, 0, 0)
    names = ("attainment", "low", "high", "kept", "budget_spent_share", "budget_left_share")
    assert all(found[name] is None for name in names)
    assert found["change"]["raw"] is None


def test_coverage_and_worst_requests() -> None:
    made = strict_json(contract_text(weekly()))
    assert made["services"][1]["coverage_share"] == round(155 / 168, 12)
    assert made["services"][1]["coverage"]["holes"][0] == {
        "start": "2026-11-28T03:00:00Z", "end": "2026-11-28T12:00:00Z",
    }  # fmt: skip
    worst = made["services"][0]["worst_requests"][0]
    assert worst["limit_ratio"] == 4200 / 500
    assert worst["request_id"] == "req-0<b>|@x"


def test_the_same_values_give_the_same_bytes() -> None:
    assert contract_text(weekly(chat(), code())) == contract_text(weekly(chat(), code()))
    for word in ("generated", "created", "now"):
        assert word not in contract(weekly())


def test_the_order_of_sums_does_not_show() -> None:
    of = single()
    texts = set()
    for share in (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1):  # differ in the last digit
        change = replace(of.promises[0].change, raw=share)
        texts.add(
            contract_text(weekly(replace(of, promises=[replace(of.promises[0], change=change)])))
        )
    assert len(texts) == 1


def test_a_budget_that_is_no_whole_number() -> None:
    of = single()
    part = replace(budget(1, 0, 1), allowed=Fraction(5, 2))
    made = contract(weekly(replace(of, promises=[replace(of.promises[0], budget=part)])))
    assert objective(made, 0, 0)["budget"]["allowed"] == 2.5
    assert objective(made, 0, 0)["budget_left_share"] == 0.6
