"""What a file promises, as the tables of an `slo.toml`: of which TOML and OpenSLO are made."""

import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from tokengap.slo.model import Deployment, Exclusion, Goal, Service, SloFile

Plain = dict[str, Any]
"""Keys of an `slo.toml` in its order, without those that say nothing."""

_UNITS_NS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def plain(file: SloFile) -> Plain:
    """The tables that `services_of` reads as this file."""
    return {
        "service": [plain_service(service) for service in file.services],
        "deployment": [plain_deployment(deployment) for deployment in file.deployments],
        "exclusion": [plain_exclusion(exclusion) for exclusion in file.exclusions],
    }


def plain_service(service: Service) -> Plain:
    """One `[[service]]`."""
    return _said(
        name=service.name,
        description=service.description,
        match={column: list(globs) for column, globs in service.match.items()},
        vantage=service.vantage,
        origin=service.origin,
        handoff=service.handoff,
        window=str(service.window),
        objective=[plain_goal(goal) for goal in service.goals],
    )


def plain_goal(goal: Goal) -> Plain:
    """One `[[service.objective]]`."""
    return _said(
        statistic=goal.statistic,
        limit=None if goal.limit_ns is None else "".join(map(str, whole_units(goal.limit_ns))),
        target=goal.target,
        **{"from": goal.start},
        until=goal.end,
        **goal.only,
    )


def plain_deployment(deployment: Deployment) -> Plain:
    """One `[[deployment]]`."""
    return _said(
        name=deployment.name,
        **{"from": deployment.start},
        gpus=deployment.gpus,
        cost_per_h=deployment.cost_per_h,
        currency=deployment.currency,
        power_w=deployment.power_w,
    )


def plain_exclusion(exclusion: Exclusion) -> Plain:
    """One `[[exclusion]]`."""
    return _said(
        **{"from": exclusion.start},
        until=exclusion.end,
        reason=exclusion.reason,
        service=list(exclusion.services),
    )


def whole_units(duration_ns: int) -> tuple[int, str]:
    """A duration as a whole number of its largest unit that allows one, exactly.

    >>> whole_units(1_500_000_000), whole_units(2_000_000_000)
    ((1500, 'ms'), (2, 's'))
    """
    unit = next(unit for unit, size_ns in _UNITS_NS.items() if duration_ns % size_ns == 0)
    return duration_ns // _UNITS_NS[unit], unit


def to_toml(file: SloFile) -> str:
    """The text of an `slo.toml` that reads as this file."""
    return "\n".join(_arrays(plain(file), "")).lstrip()


def _arrays(tables: Mapping[str, Any], outer: str) -> Iterator[str]:
    """The arrays of tables among the values, each table with its own below it."""
    for key, items in tables.items():
        if not _holds_tables(items):
            continue
        for table in items:
            yield f"\n[[{outer}{key}]]"
            for name, value in table.items():
                if not _holds_tables(value):
                    yield f"{name} = {_value(value)}"
            yield from _arrays(table, f"{outer}{key}.")
    if not outer:
        yield ""


def _holds_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _value(value: object) -> str:
    match value:
        case dict():
            pairs = (f"{key} = {_value(inner)}" for key, inner in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Decimal():
            return f"{value:f}"
        case date():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)


def _said(**values: Any) -> Plain:
    """The values that say something."""
    return {
        key: value for key, value in values.items() if value is not None and value not in ([], {})
    }
