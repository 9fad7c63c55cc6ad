import re

import yaml
from hypothesis import given, settings

from tests.slo.given import files, full
from tokengap.slo.document import parse_toml
from tokengap.slo.model import SloFile
from tokengap.slo.openslo import from_openslo, to_openslo
from tokengap.slo.plain import to_toml
from tokengap.slo.services import services_of

RFC_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@given(files())
@settings(deadline=None, max_examples=20)
def test_toml_to_openslo_and_back_is_the_same(file: SloFile) -> None:
    read = services_of(parse_toml(to_toml(file), "slo.toml"))
    back = from_openslo(to_openslo(read), "slo.yaml")
    assert back.file == file
    assert back.left_out == []


@given(files())
@settings(deadline=None, max_examples=10)
def test_every_object_has_a_name_of_its_own_that_any_tool_supports(file: SloFile) -> None:
    objects = list(yaml.safe_load_all(to_openslo(file)))
    names = [(found["kind"], found["metadata"]["name"]) for found in objects]
    assert len(set(names)) == len(names)
    assert all(RFC_1123.fullmatch(name) and len(name) <= 63 for _, name in names)


def test_an_objective_is_the_slo_that_the_specification_describes() -> None:
    objects = list(yaml.safe_load_all(to_openslo(full())))
    assert [found["kind"] for found in objects] == [
        "DataSource", "Service", "Service", *["SLO"] * 6,
    ]  # fmt: skip
    assert {found["apiVersion"] for found in objects} == {"openslo/v1"}
    (tightened,) = [o for o in objects if o["metadata"]["name"] == "chat-worst-gap-2026-11-01"]
    assert tightened["metadata"]["annotations"] == {"tokengap/from": "2026-11-01"}
    spec = tightened["spec"]
    assert spec["timeWindow"] == [{"duration": "28d", "isRolling": True}]
    assert spec["budgetingMethod"] == "Occurrences"
    assert spec["objectives"] == [{"op": "lte", "value": 400, "target": 0.99}]
    source = spec["indicator"]["spec"]["thresholdMetric"]["metricSource"]
    assert source["spec"] == {
        "statistic": "worst_gap",
        "unit": "ms",
        "match": {"deployment": ["chat-*"], "slo_class": ["interactive", "premium"]},
        "vantage": "client",
        "origin": "planned",
        "handoff": "engine",
    }


def test_good_requests_are_a_ratio_to_the_offered_ones() -> None:
    objects = list(yaml.safe_load_all(to_openslo(full())))
    (good,) = [o for o in objects if o["metadata"]["name"] == "chat-good-2026-01-01"]
    ratio = good["spec"]["indicator"]["spec"]["ratioMetric"]
    assert ratio["good"]["metricSource"]["spec"]["statistic"] == "good"
    assert ratio["total"]["metricSource"]["spec"]["statistic"] == "offered"
    assert good["spec"]["objectives"] == [{"target": 0.95}]


def test_a_calendar_window_begins_at_a_first_of_the_month_in_utc() -> None:
    objects = list(yaml.safe_load_all(to_openslo(full())))
    (window,) = objects[-1]["spec"]["timeWindow"]
    assert (window["duration"], window["isRolling"]) == ("1M", False)
    assert window["calendar"]["startTime"] == "2024-01-01 00:00:00"
    assert window["calendar"]["timeZone"] == "UTC"
