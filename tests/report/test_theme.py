import re
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from tokengap.report.theme import CONFIG, PLACES, domain, ticks


@given(st.floats(1e-6, 1e10), st.floats(1.5, 1e13))
def test_an_axis_has_a_few_ticks_in_order_within_it(low: float, span: float) -> None:
    found = ticks(low, low * span)
    assert 2 <= len(found) <= 10
    assert found == sorted(set(found))
    assert low <= found[0]
    assert found[-1] <= low * span


def test_ticks_are_round() -> None:
    assert ticks(0.9, 110) == [1, 2, 5, 10, 20, 50, 100]
    assert ticks(18.9, 23.4) == [19, 20, 21, 22, 23]
    assert ticks(1e-8, 1) == [10.0**power for power in range(-8, 1)]


@given(st.lists(st.floats(1e-6, 1e10), min_size=1))
def test_a_domain_is_wider_than_its_values(values: list[float]) -> None:
    low, high = domain(values, 0.1, 0.1)
    assert low < min(values)
    assert max(values) < high


def test_every_colour_is_defined_for_light_and_dark() -> None:
    styles = (files("tokengap") / "report" / "page.css").read_text("utf-8")
    light, dark = re.findall(r":root \{([^}]*)\}", styles)
    used = set(re.findall(r"var\((--\w+)\)", str(CONFIG) + str(PLACES) + styles)) - {"--tone"}
    assert used <= set(re.findall(r"(--\w+):", light))
    assert set(re.findall(r"(--\w+):", light)) == set(re.findall(r"(--\w+):", dark))
