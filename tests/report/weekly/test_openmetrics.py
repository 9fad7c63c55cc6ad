"""OpenMetrics that both kinds of readers take, parsed back by Prometheus' own client."""

import re
from collections.abc import Callable, Iterable
from typing import Final

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_of
from prometheus_client.parser import text_string_to_metric_families as prometheus_of

from tests.report.hostile import EVIL
from tests.report.weekly.gate_example import burn, example, kept, promise, service, weekly
from tokengap.report.weekly.openmetrics import FAMILIES, openmetrics
from tokengap.weekly.model import WORSE, Coverage, Weekly

Read = Callable[[str], Iterable[Metric]]
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
READERS: Final = (openmetrics_of, prometheus_of)


@pytest.fixture(params=READERS, ids=["openmetrics", "prometheus"])
def read(request: pytest.FixtureRequest) -> Read:
    reader: Read = request.param
    return reader


def samples(read: Read, week: Weekly) -> Samples:
    """Each sample by name and labels; all of them gauges without a time."""
    found: Samples = {}
    for metric in read(openmetrics(week)):
        assert metric.type == "gauge"
        assert metric.documentation
        for sample in metric.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, "the same series twice takes all of node exporter down"
            assert sample.timestamp is None
            found[key] = sample.value
    return found


def of(found: Samples, name: str, **labels: str) -> float:
    return found[f"tokengap_{name}", frozenset(labels.items())]


def test_what_is_written_is_read_back(read: Read) -> None:
    found = samples(read, example())
    gap = {"service": "chat", "promise": "worst_gap"}
    assert of(found, "week_start_timestamp_seconds") == 1_795_392_000  # 2026-11-23T00:00:00Z
    assert of(found, "attainment_ratio", **gap) == 0.98
    assert of(found, "attainment_low_ratio", **gap) == 0.49
    assert of(found, "attainment_high_ratio", **gap) == 1
    assert of(found, "target_ratio", **gap) == 0.99
    assert of(found, "budget_spent_ratio", **gap) == 5 / 40
    assert of(found, "budget_left_ratio", **gap) == 0.5
    assert of(found, "burn_rate", **gap, window="72h") == 0.25
    assert of(found, "burn_rate_worst", **gap, window="72h") == 0.5
    ttft = {"service": "chat", "promise": "ttft"}
    assert of(found, "burn_over_threshold_hours", **ttft, window="1h") == 3
    assert of(found, "coverage_ratio", service="chat") == 140 / 168
    assert of(found, "offered_requests", service="batch") == 1000
    assert of(found, "good_requests", service="batch") == 950
    assert of(found, "hidden_stalls_requests", service="chat") == 12
    assert of(found, "goodput_requests_per_second", service="chat") == 950 / (168 * 3600)
    assert of(found, "cost_per_good_request", service="chat", currency="EUR") == 2
    assert {name for name, _ in found} == {family.name for family in FAMILIES}


def test_one_verdict_of_four_is_set(read: Read) -> None:
    found = samples(read, example())
    verdicts = {
        dict(labels)["verdict"]: value
        for (name, labels), value in found.items()
        if name == "tokengap_change" and {("service", "chat"), ("promise", "worst_gap")} <= labels
    }
    assert verdicts == {"better": 0, WORSE: 1, "cannot_tell": 0, "not_comparable": 0}


def test_what_is_not_known_has_no_sample(read: Read) -> None:
    silent = promise(kept=kept(0), burn=[burn(1, 14.4, None)])
    week = service(promises=[silent], coverage=Coverage(0, 0, []), stalls=None, trend=[])
    names = {name for name, _ in samples(read, weekly(week))}
    assert not names & {
        "tokengap_attainment_ratio",
        "tokengap_attainment_low_ratio",
        "tokengap_burn_rate",
        "tokengap_coverage_ratio",
        "tokengap_hidden_stalls_requests",
        "tokengap_goodput_requests_per_second",
        "tokengap_cost_per_good_request",
    }
    assert "tokengap_target_ratio" in names


def test_every_label_comes_back_as_it_was(read: Read) -> None:
    evil = (*EVIL, 'a"b\\c\nd', "\\n", "x\\", "}", "a,b=1")
    week = weekly(service(promises=[promise(only={"tenant": text}) for text in evil]))
    found = samples(read, week)
    names = {dict(labels)["promise"] for name, labels in found if name == "tokengap_target_ratio"}
    assert names == {f"worst_gap tenant={text}" for text in evil}


def test_the_text_is_what_both_formats_have_in_common() -> None:
    """Help without escapes, each family in one piece, no empty line, and the end said once."""
    text = openmetrics(example())
    assert text == openmetrics(example())
    assert text.endswith("\n# EOF\n")
    assert text.count("# EOF") == 1
    lines = text.splitlines()
    comments = [line for line in lines[:-1] if line.startswith("#")]
    assert all(re.fullmatch(r"# (HELP|TYPE) [a-z_]+ [^\\\"]+", line) for line in comments)
    pattern = r'[a-z_]+(\{[a-z_]+="(\\.|[^"\\])*"(,[a-z_]+="(\\.|[^"\\])*")*\})? [-+.e0-9]+'
    assert all(re.fullmatch(pattern, line) for line in lines if not line.startswith("#"))
