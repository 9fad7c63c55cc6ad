"""What a file promises as OpenSLO v1 objects."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tokengap.slo.model import GOOD, ROLLING, Goal, Service, SloFile, Window
from tokengap.slo.openslo.terms import (
    API,
    AT_MOST,
    CALENDAR_START,
    CALENDARS,
    FROM,
    JUDGED,
    OCCURRENCES,
    OFFERED,
    TOOL,
    UNTIL,
    UTC_NAMES,
)
from tokengap.slo.openslo.yaml_text import dump_yaml
from tokengap.slo.plain import plain, plain_service, whole_units

_SERVICE_PART: Final = 32
"""Characters of a service's name in its SLOs' names, which may have 63."""

Object = dict[str, Any]


def to_openslo(file: SloFile) -> str:
    """YAML of OpenSLO v1 that `from_openslo` reads as this file. UsageError without PyYAML."""
    return dump_yaml(_objects(file))


def _objects(file: SloFile) -> Iterator[Object]:
    tables = plain(file)
    details = {f"{key}s": tables[key] for key in ("deployment", "exclusion") if tables[key]}
    yield _object("DataSource", TOOL, {"type": TOOL, "connectionDetails": details})
    for service in file.services:
        said = {} if service.description is None else {"description": service.description}
        yield _object("Service", service.name, said)
    names = Counter[str]()
    for service in file.services:
        for goal in service.goals:
            yield _slo(service, goal, names)


def _slo(service: Service, goal: Goal, names: Counter[str]) -> Object:
    spec = {
        "service": service.name,
        "indicator": {
            "metadata": {"name": goal.statistic.replace("_", "-")},
            "spec": _indicator(service, goal),
        },
        "timeWindow": [_time_window(service.window)],
        "budgetingMethod": OCCURRENCES,
        "objectives": [_objective(goal)],
    }
    days = {FROM: goal.start, UNTIL: goal.end}
    annotations = {key: day.isoformat() for key, day in days.items() if day is not None}
    return _object("SLO", _name(service, goal, names), spec, annotations=annotations)


def _name(service: Service, goal: Goal, names: Counter[str]) -> str:
    """What it is about, numbered where several are about the same."""
    part = service.name[:_SERVICE_PART].rstrip("-")
    name = f"{part}-{goal.statistic.replace('_', '-')}-{goal.start}"
    names[name] += 1
    return name if names[name] == 1 else f"{name}-{names[name]}"


def _indicator(service: Service, goal: Goal) -> Object:
    tables = plain_service(service)
    judged = {key: tables[key] for key in JUDGED if key in tables} | dict(goal.only)
    if goal.limit_ns is None:
        parts = {"good": GOOD, "total": OFFERED}
        sources = {part: _source(statistic, judged) for part, statistic in parts.items()}
        return {"ratioMetric": {"counter": True, **sources}}
    _, unit = whole_units(goal.limit_ns)
    return {"thresholdMetric": _source(goal.statistic, {"unit": unit, **judged})}


def _source(statistic: str, rest: Object) -> Object:
    spec = {"statistic": statistic, **rest}
    return {"metricSource": {"metricSourceRef": TOOL, "type": TOOL, "spec": spec}}


def _objective(goal: Goal) -> Object:
    if goal.limit_ns is None:
        return {"target": goal.target}
    value, _ = whole_units(goal.limit_ns)
    return {"op": AT_MOST, "value": value, "target": goal.target}


def _time_window(window: Window) -> Object:
    if window.kind == ROLLING:
        return {"duration": str(window), "isRolling": True}
    calendar = {"startTime": CALENDAR_START, "timeZone": UTC_NAMES[0]}
    return {"duration": CALENDARS[window.kind], "calendar": calendar, "isRolling": False}


def _object(kind: str, name: str, spec: Object, **metadata: Object) -> Object:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
