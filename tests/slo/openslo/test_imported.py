"""Objects as the OpenSLO v1 specification describes them, written by hand."""

import re
import sys
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tokengap.errors import UsageError
from tokengap.slo.model import Deployment, Goal, Window
from tokengap.slo.openslo import from_openslo, to_openslo

SLI = """\
apiVersion: openslo/v1
kind: SLI
metadata:
  name: chat-ttft
spec:
  thresholdMetric:
    metricSource:
      type: tokengap
      spec:
        statistic: ttft
        unit: s
        vantage: gateway
        match: {deployment: chat-*}
"""
SLO = """\
apiVersion: openslo/v1
kind: SLO
metadata:
  name: chat-ttft
  annotations:
    tokengap/from: 2026-01-01
spec:
  service: chat
  indicatorRef: chat-ttft
  timeWindow:
    - duration: 4w
      isRolling: true
  budgetingMethod: Occurrences
  objectives:
    - op: lte
      value: 0.5
      targetPercent: 99.5
"""
TEXT = f"{SLO}---\n{SLI}"


def read(text: str) -> Any:
    return from_openslo(text, "slo.yaml")


def test_an_slo_and_the_sli_that_it_refers_to_are_an_objective() -> None:
    imported = read(TEXT)
    (service,) = imported.file.services
    assert imported.left_out == []
    assert (service.name, service.vantage, service.origin) == ("chat", "gateway", None)
    assert service.match == {"deployment": ("chat-*",)}
    assert service.window == Window("rolling", 28)
    # 0.5 s in ns, 99.5 % as a share
    assert service.goals == (Goal("ttft", 500_000_000, Decimal("0.995"), date(2026, 1, 1)),)


def test_an_slo_without_a_day_holds_from_the_one_given() -> None:
    text = TEXT.replace("tokengap/from: 2026-01-01", "tokengap/until: '2027-01-01'")
    imported = from_openslo(text, "slo.yaml", date(2026, 3, 1))
    (goal,) = imported.file.services[0].goals
    assert (goal.start, goal.end) == (date(2026, 3, 1), date(2027, 1, 1))
    with pytest.raises(UsageError, match=r"slo\.yaml:1: SLO chat-ttft says not .* --from"):
        read(text)


def test_what_changes_no_verdict_is_left_out_and_named() -> None:
    text = TEXT.replace(
        "  annotations:\n",
        "  displayName: Chat\n  labels: {team: a}\n  annotations:\n    acme.org/page: x\n",
    ).replace("    - op: lte", "    - displayName: fast\n      op: lte")
    assert read(text).left_out == [
        "slo.yaml:5: metadata.displayName",
        "slo.yaml:6: metadata.labels",
        "slo.yaml:8: metadata.annotations.acme.org/page",
        "slo.yaml:18: spec.objectives.displayName",
    ]


def test_a_data_source_gives_its_type_and_what_stands_on_it() -> None:
    source = """\
apiVersion: openslo/v1
kind: DataSource
metadata: {name: logs}
spec:
  type: tokengap
  connectionDetails:
    deployments:
      - {name: chat-eu, from: 2026-01-01, gpus: 8}
"""
    text = TEXT.replace("      type: tokengap", "      metricSourceRef: logs")
    assert read(f"{text}---\n{source}").file.deployments == (
        Deployment("chat-eu", date(2026, 1, 1), 8),
    )
    with pytest.raises(UsageError, match=r"slo\.yaml:40: deployment\.gpus = 0: expected 1"):
        read(f"{text}---\n{source.replace('gpus: 8', 'gpus: 0')}")
    with pytest.raises(UsageError, match="of the DataSource logs, is not known"):
        read(text)


@pytest.mark.parametrize(
    ("duration", "start", "window"),
    [
        ("1w", "2020-01-20 00:00:00", Window("week")),
        ("1w", "'2020-01-20 00:00:00'", Window("week")),
        ("1M", "2020-02-01 00:00:00", Window("month")),
    ],
)
def test_weeks_and_months_of_the_calendar(duration: str, start: str, window: Window) -> None:
    text = TEXT.replace(
        "duration: 4w\n      isRolling: true",
        f"duration: {duration}\n      calendar: {{startTime: {start}, timeZone: UTC}}",
    )
    assert read(text).file.services[0].window == window


RATIO = """\
  ratioMetric:
    counter: true
    good: {metricSource: {type: tokengap, spec: {statistic: good, origin: sent}}}
    total: {metricSource: {type: tokengap, spec: {statistic: offered, origin: sent}}}
"""
THRESHOLD = SLI[SLI.index("  thresholdMetric") :]
RATIO_TEXT = TEXT.replace(THRESHOLD, RATIO).replace("op: lte\n      value: 0.5\n      ", "")
ROLLS = "4w\n      isRolling: true"
CALENDAR = "calendar: {startTime: 2020-01-20 00:00:00, timeZone: UTC}"


def test_a_ratio_is_of_good_requests_to_offered_ones() -> None:
    (service,) = read(RATIO_TEXT).file.services
    assert service.origin == "sent"
    assert service.goals == (Goal("good", None, Decimal("0.995"), date(2026, 1, 1)),)


def changed(old: str, new: str, text: str = TEXT) -> str:
    assert old in text
    return text.replace(old, new, 1)


REFUSED = {
    "version": (changed("openslo/v1", "openslo/v1alpha"), ':1: apiVersion = "openslo/v1alpha"'),
    "alerts": (changed("kind: SLI", "kind: AlertPolicy"), 'kind = "AlertPolicy": has no counter'),
    "kind": (changed("kind: SLI", "kind: Sli"), 'kind = "Sli": no such kind'),
    "policies": (
        TEXT.replace("objectives:", "alertPolicies: [{}]\n  objectives:"),
        ":14: spec.alertPolicies = [{}]: alerts have no counterpart",
    ),
    "time slices": (
        changed("Occurrences", "Timeslices"),
        ':13: spec.budgetingMethod = "Timeslices',
    ),
    "slice target": (
        changed("op: lte", "op: lte\n      timeSliceTarget: 0.9"),
        ":16: spec.objectives.timeSliceTarget = 0.9: time slices are not counted",
    ),
    "composite": (
        changed("op: lte", "op: lte\n      compositeWeight: 2"),
        "composites are not known",
    ),
    "two objectives": (changed("    - op: lte", "    - {target: 0.9}\n    - op: lte"), "not 2"),
    "operator": (
        changed("op: lte", "op: lt"),
        ':15: spec.objectives.op = "lt": a limit is the most',
    ),
    "no operator": (changed("op: lte\n      ", ""), "op is missing; write op = lte"),
    "no window": (
        changed("duration: 4w\n      isRolling: true", "isRolling: true"),
        "duration is missing",
    ),
    "rolling month": (changed("4w", "1M"), "a rolling window has whole days or weeks"),
    "still window": (
        changed("isRolling: true", "isRolling: false"),
        "expected true, or a calendar",
    ),
    "quarter": (changed(ROLLS, f"1Q\n      {CALENDAR}"), "window is 1w or 1M"),
    "zone": (
        changed(ROLLS, f"1w\n      {CALENDAR}".replace("UTC", "Europe/Oslo")),
        'spec.timeWindow.calendar.timeZone = "Europe/Oslo": days are counted in UTC',
    ),
    "week's start": (
        changed(ROLLS, f"1M\n      {CALENDAR}"),
        "a month begins at 00:00:00 on the first of a month",
    ),
    "two targets": (
        changed("op: lte", "op: lte\n      target: 0.9"),
        "stands beside targetPercent",
    ),
    "target": (changed("99.5", "100"), "leaves no budget"),
    "statistic": (changed("statistic: ttft", "statistic: ttfb"), "did you mean ttft?"),
    "unit": (
        changed("unit: s", "unit: sec"),
        'thresholdMetric.metricSource.spec.unit = "sec": expect',
    ),
    "no unit": (changed("unit: s\n", "\n"), "unit is missing; write unit = ms"),
    "source": (
        changed("type: tokengap", "type: Datadog"),
        "metricSource.type: its type is Datadog",
    ),
    "query": (
        changed("unit: s", "query: x"),
        "thresholdMetric.metricSource.spec.query: no such key",
    ),
    "no indicator": (changed("  indicatorRef: chat-ttft\n", ""), "spec.indicator: is missing"),
    "no SLI": (changed("indicatorRef: chat-ttft", "indicatorRef: ttft"), "no SLI is called so"),
    "no metric": (
        TEXT.replace("  thresholdMetric:", "  description: x\n").split("    metricS")[0],
        "thresholdMetric: is missing, and so is ratioMetric",
    ),
    "bad": (changed("    good:", "    bad:", RATIO_TEXT), "ratioMetric.bad"),
    "raw": (
        changed("    good:", "    rawType: success\n    good:", RATIO_TEXT),
        "ratioMetric.rawType",
    ),
    "total": (changed("statistic: offered", "statistic: all", RATIO_TEXT), "expected offered"),
    "other total": (changed("offered, origin: sent", "offered", RATIO_TEXT), "not about the same"),
    "limit of a ratio": (
        changed("targetP", "value: 1\n      targetP", RATIO_TEXT),
        "this is a ratio",
    ),
    "day": (changed("2026-01-01", "soon"), "annotations.tokengap/from = soon: expected a date"),
    "name twice": (f"{TEXT}---\n{SLO}", ':36: metadata.name = "chat-ttft": a second SLO'),
    "window of another": (
        TEXT + "---\n" + SLO.replace("4w", "7d").replace("name: chat-ttft", "name: other"),
        ":33: SLO other: its window is 7d, and that of chat-ttft 28d; SLOs of one service share it",
    ),
    "key twice": (changed("kind: SLO", "kind: SLO\nkind: SLO"), "slo.yaml:3: kind is given twice"),
    "no number": (changed("99.5", ".nan"), "targetPercent = NaN: expected a number above 0"),
    "sexagesimal": (changed("99.5", "9:30.5"), "slo.yaml: not YAML: 9:30.5 is no decimal number"),
    "key that is no text": (changed("kind: SLO", "kind: SLO\n1: 2"), "slo.yaml:3: 1: no such key"),
    "endless": ("a: &a [*a]", "slo.yaml: not YAML: "),
    "no YAML": ("a: [", "slo.yaml: not YAML: "),
    "a day that is none": (
        changed("2026-01-01", "2026-13-01"),
        "slo.yaml: not YAML: month must be",
    ),
    "a list": ("- a", "slo.yaml:1: expected a table"),
    "nothing": ("", "slo.yaml: no service"),
    "another source": (
        "apiVersion: openslo/v1\nkind: DataSource\nmetadata: {name: p}\nspec: {type: Prometheus}\n",
        'slo.yaml:4: spec.type = "Prometheus": only what tokengap measures',
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_by_name(name: str) -> None:
    text, said = REFUSED[name]
    with pytest.raises(UsageError, match=re.escape(said)):
        read(text)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    file = read(TEXT).file
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=re.escape("pip install 'tokengap[openslo]'")):
        read(TEXT)
    with pytest.raises(UsageError, match="PyYAML is not installed"):
        to_openslo(file)
