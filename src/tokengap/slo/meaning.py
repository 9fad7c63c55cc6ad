"""What an SLO file means on a day, in words."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal

from tokengap.slo.model import (
    MATCHED,
    MONTH,
    NARROWED,
    WEEK,
    Deployment,
    Exclusion,
    Goal,
    Service,
    SloFile,
    Window,
)
from tokengap.slo.plain import whole_units


def meaning(file: SloFile, day: date) -> str:
    """Text on every service and deployment: whose requests, judged how, and what is promised."""
    blocks = [_service(service, file.exclusions_of(service.name), day) for service in file.services]
    if file.deployments:
        blocks.append(_deployments(file.deployments_on(day), day))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _service(service: Service, excluded: Iterable[Exclusion], day: date) -> list[str]:
    about = "" if service.description is None else f": {service.description}"
    at = "the outermost vantage that can answer" if service.vantage is None else service.vantage
    origin = "the vantage's own stamp" if service.origin is None else service.origin
    held = service.on(day)
    later = [goal for goal in service.goals if goal.start > day]
    lines = [
        f"{service.name}{about}",
        f"  takes    {_matched(service)}",
        f"  judged   at {at}, times from {origin}, handoff boundary {service.handoff}",
        f"  budget   {_window(service.window)}, now {_span(service.window, day)}",
        f"  promised on {day}" if held else f"  promised on {day}: nothing",
    ]
    lines += [f"    {_goal(goal)}" for goal in held]
    if later:
        lines += ["  promised later", *(f"    {_goal(goal)}" for goal in later)]
    lines += [
        f"  excluded {_moment(e.start)} to {_moment(e.end)} UTC: {e.reason}" for e in excluded
    ]
    return lines


def _matched(service: Service) -> str:
    if not service.match:
        return "every request that no service above takes"
    rules = (
        f"{column} {' or '.join(service.match[column])}"
        for column in MATCHED
        if column in service.match
    )
    return f"requests with {', '.join(rules)}"


def _goal(goal: Goal) -> str:
    share = f"{percent(goal.target)} of"
    if goal.limit_ns is None:
        promise = f"{goal.statistic}: {share} the offered requests meet every limit"
    else:
        value, unit = whole_units(goal.limit_ns)
        promise = f"{goal.statistic} <= {value} {unit} in {share} requests"
    return promise + "".join(f"; {note}" for note in _notes(goal))


def _notes(goal: Goal) -> Iterator[str]:
    until = "" if goal.end is None else f" until before {goal.end}"
    yield f"from {goal.start}{until}"
    only = [f"{column} {goal.only[column]}" for column in NARROWED if column in goal.only]
    if only:
        yield f"{' and '.join(only)} only, instead of what holds for all"


def _window(window: Window) -> str:
    if window.kind == WEEK:
        return "a week from Monday"
    if window.kind == MONTH:
        return "a month of the calendar"
    return f"{window.days} days that roll"


def _span(window: Window, day: date) -> str:
    first, after = window.span(day)
    return f"{first} to before {after} UTC"


def _deployments(deployments: Iterable[Deployment], day: date) -> list[str]:
    return [
        f"deployments on {day}",
        *(f"  {d.name}: {', '.join(_resources(d))}; from {d.start}" for d in deployments),
    ]


def _resources(deployment: Deployment) -> Iterator[str]:
    if deployment.gpus is not None:
        yield f"{deployment.gpus} GPU{'s' * (deployment.gpus > 1)}"
    if deployment.cost_per_h is not None:
        yield f"{deployment.cost_per_h:f} {deployment.currency} per hour"
    if deployment.power_w is not None:
        yield f"{deployment.power_w:f} W"


def percent(share: Decimal) -> str:
    """A target as a percentage, to its last digit.

    >>> percent(Decimal("0.9995")), percent(Decimal("0.5"))
    ('99.95 %', '50 %')
    """
    return f"{(share * 100).normalize():f} %"


def _moment(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", "minutes" if not moment.second else "seconds")
