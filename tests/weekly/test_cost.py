from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.weekly.hourly import MONDAY, WEEK
from tokengap.slo.model import Deployment, SloFile
from tokengap.weekly.cost import Resources, Work, resources

JANUARY = date(2026, 1, 1)


def machine(name: str = "eu", start: date = JANUARY, **facts: Any) -> Deployment:
    known: dict[str, Any] = {
        "gpus": 8,
        "cost_per_h": Decimal(10),
        "currency": "EUR",
        "power_w": Decimal(700),
    }
    return Deployment(name, start, **(known | facts))


def spent(work: Work, *machines: Deployment, service: str = "chat") -> Resources:
    return resources(SloFile((), machines), service, work, WEEK)


def test_a_deployment_of_ones_own_costs_the_whole_week() -> None:
    """168 hours of 10 EUR, however little it did."""
    found = spent({("chat", "eu"): 1}, machine())
    numbers = (found.gpus, found.cost, found.power_w)
    assert numbers == pytest.approx((8, 168 * 10, 700))
    assert found.currency == "EUR"


def test_what_is_shared_is_divided_by_tokens() -> None:
    """300 of 400 tokens on the one, 10 of 1,000 on the other."""
    work: Work = {
        ("chat", "eu"): 300,
        ("batch", "eu"): 100,
        ("chat", "us"): 10,
        ("batch", "us"): 990,
    }
    found = spent(work, machine(), machine("us", gpus=100, cost_per_h=Decimal(200)))
    assert found.gpus == pytest.approx(8 * 0.75 + 100 * 0.01)
    assert found.cost == pytest.approx(168 * (10 * 0.75 + 200 * 0.01))
    assert found.power_w == pytest.approx(700 * 0.76)


def test_each_day_costs_what_it_was_made_of_then() -> None:
    """Twice as many GPUs from Thursday: 3 days of 8, 4 of 16."""
    thursday = date(2026, 11, 26)
    found = spent(
        {("chat", "eu"): 5}, machine(), machine(start=thursday, gpus=16, cost_per_h=Decimal(20))
    )
    assert found.gpus == pytest.approx((3 * 8 + 4 * 16) / 7)
    assert found.cost == pytest.approx(24 * (3 * 10 + 4 * 20))
    late = spent({("chat", "eu"): 5}, machine(start=thursday))
    assert late.cost == pytest.approx(4 * 24 * 10)


def test_what_the_file_does_not_say_is_not_known() -> None:
    work: Work = {("chat", "eu"): 5, ("chat", "us"): 5}
    assert spent(work) == Resources()
    assert spent({}, machine()) == Resources()
    assert spent({("chat", None): 5}, machine()) == Resources()
    assert spent({("batch", "eu"): 5}, machine()) == Resources()
    assert spent(work, machine(start=WEEK.after)) == Resources()
    found = spent(work, machine(), machine("us", cost_per_h=None, currency=None, power_w=None))
    assert found.gpus == pytest.approx(16)
    assert found.cost is found.power_w is None


def test_currencies_have_no_sum() -> None:
    work: Work = {("chat", "eu"): 5, ("chat", "us"): 5}
    found = spent(work, machine(), machine("us", currency="USD"))
    assert found.gpus == pytest.approx(16)
    assert (found.cost, found.currency) == (None, None)


def test_machines_that_did_nothing_for_it_are_not_its_own() -> None:
    work: Work = {("chat", "eu"): 5, ("batch", "us"): 7}
    assert spent(work, machine(), machine("us")).gpus == pytest.approx(8)
    assert spent({("chat", "eu"): 0}, machine()) == Resources()


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from(["eu", "us"])),
                       st.integers(1, 10**9), min_size=1))  # fmt: skip
def test_parts_add_up_to_what_is_used(work: Work) -> None:
    machines = [machine(), machine("us", gpus=3, start=MONDAY)]
    parts = [spent(work, *machines, service=name) for name in "abc"]
    used = {name for _, name in work}
    assert sum(part.gpus or 0 for part in parts) == pytest.approx(
        8 * ("eu" in used) + 3 * ("us" in used)
    )
    assert sum(part.cost or 0 for part in parts) == pytest.approx(168 * 10 * len(used))
