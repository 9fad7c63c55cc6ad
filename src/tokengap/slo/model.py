"""What an operator promises: services, their objectives by date, and what they run on."""

import calendar
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final

from tokengap.slo.limits import STATISTICS, Objective

GOOD: Final = "good"
"""Statistic of an objective on whole requests: completed, and every limit that applies met."""
PROMISED: Final = (*STATISTICS, GOOD)
MATCHED: Final = ("deployment", "model", "tenant", "slo_class")
"""Columns of a stream that say which service it belongs to."""
NARROWED: Final = ("tenant", "slo_class")
"""Columns by which an objective can hold for some requests of a service only."""
ROLLING, WEEK, MONTH = "rolling", "week", "month"
_WEEK_DAYS: Final = 7


@dataclass(frozen=True)
class Window:
    """Days over which an error budget is counted, in UTC."""

    kind: str
    """rolling, or a calendar's week (from Monday) or month."""
    days: int = 0
    """Length of a rolling window; 0 for a calendar's."""

    def __str__(self) -> str:
        return f"{self.days}d" if self.kind == ROLLING else self.kind

    def span(self, day: date) -> tuple[date, date]:
        """First day of the window in which `day` lies, and the day after its last.

        A rolling window ends with `day`; a calendar's may last beyond it.
        """
        if self.kind == ROLLING:
            return day - timedelta(self.days - 1), day + timedelta(1)
        if self.kind == WEEK:
            first = day - timedelta(day.weekday())
            return first, first + timedelta(_WEEK_DAYS)
        _, days = calendar.monthrange(day.year, day.month)
        first = day.replace(day=1)
        return first, first + timedelta(days)


@dataclass(frozen=True)
class Goal:
    """One version of one objective: a limit, and the share of requests that shall keep it."""

    statistic: str
    """One of `PROMISED`."""
    limit_ns: int | None
    """Inclusive; None for `good`, which has the other objectives' limits."""
    target: Decimal
    """Share in (0, 1) of the requests that the objective applies to; of the offered for `good`."""
    start: date
    """First day, in UTC, on which this version holds."""
    end: date | None = None
    """First day on which nothing holds any more; None: until the next version."""
    only: Mapping[str, str] = field(default_factory=dict)
    """Globs by keys of `NARROWED`; a request that fits is judged by this and no wider goal."""

    @property
    def key(self) -> tuple[str, tuple[str | None, ...]]:
        """What all versions of one objective have in common."""
        return self.statistic, tuple(self.only.get(column) for column in NARROWED)

    @property
    def rank(self) -> tuple[bool, ...]:
        """Sorts narrow before wide: tenant and class, tenant, class, all."""
        return tuple(column not in self.only for column in NARROWED)


@dataclass(frozen=True)
class Service:
    """What is promised to the requests that match, and how they are judged."""

    name: str
    goals: tuple[Goal, ...]
    """At least one, in the order of the file."""
    match: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Globs by keys of `MATCHED`, of which one has to fit; a column without any fits all."""
    description: str | None = None
    vantage: str | None = None
    """Where requests are judged; None: at the outermost that can answer."""
    origin: str | None = None
    """Stamp that times count from; None: the vantage's own."""
    handoff: str = "stream"
    """Boundary that a limit on handoff_gap is about."""
    window: Window = Window(ROLLING, 28)

    def takes(self, request: Mapping[str, str | None]) -> bool:
        """The request's columns fit every rule; a column that is not known fits no glob but `*`."""
        return all(fits(globs, request.get(column)) for column, globs in self.match.items())

    def in_force(self, day: date, request: Mapping[str, str | None] | None = None) -> list[Goal]:
        """Goals that a request of that day is judged by, one a statistic, in their order.

        request: its tenant and slo_class, as far as known; None: what holds for everybody.
        """
        request = request or {}
        held = [
            goal
            for goal in _versions(self.goals, day)
            if all(fits((glob,), request.get(column)) for column, glob in goal.only.items())
        ]
        chosen: dict[str, Goal] = {}
        for goal in sorted(held, key=lambda goal: goal.rank):
            chosen.setdefault(goal.statistic, goal)
        return [chosen[statistic] for statistic in PROMISED if statistic in chosen]

    def on(self, day: date) -> list[Goal]:
        """Every goal that holds for some request on that day, in the order of the file."""
        return _versions(self.goals, day)


@dataclass(frozen=True)
class Deployment:
    """What a deployment is made of, from a day on; None is not known."""

    name: str
    start: date
    gpus: int | None = None
    cost_per_h: Decimal | None = None
    currency: str | None = None
    """Given with every cost."""
    power_w: Decimal | None = None


@dataclass(frozen=True)
class Exclusion:
    """A span that no promise is about, such as a maintenance window."""

    start: datetime
    """In UTC."""
    end: datetime
    """In UTC, exclusive."""
    reason: str
    services: tuple[str, ...] = ()
    """Names; none: all services."""


@dataclass(frozen=True)
class SloFile:
    """All that one file promises."""

    services: tuple[Service, ...]
    """A request belongs to the first one that takes it."""
    deployments: tuple[Deployment, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()

    def service_of(self, request: Mapping[str, str | None]) -> Service | None:
        """The service that the request belongs to, by its `MATCHED` columns; None if none does."""
        return next((service for service in self.services if service.takes(request)), None)

    def deployments_on(self, day: date) -> list[Deployment]:
        """What each deployment was made of on that day, in the order of the file."""
        latest: dict[str, Deployment] = {}
        for deployment in sorted(self.deployments, key=lambda deployment: deployment.start):
            if deployment.start <= day:
                latest[deployment.name] = deployment
        return [deployment for deployment in self.deployments if deployment in latest.values()]

    def exclusions_of(self, service: str) -> list[Exclusion]:
        """Spans in which the service promises nothing, in the order of time."""
        about = [e for e in self.exclusions if not e.services or service in e.services]
        return sorted(about, key=lambda exclusion: exclusion.start)


def fits(globs: Iterable[str], value: str | None) -> bool:
    """One of the globs (`*`, `?`, `[a-c]`) fits the value, capitals told apart."""
    return any(glob == "*" if value is None else fnmatchcase(value, glob) for glob in globs)


def limits_of(goals: Iterable[Goal], source: str) -> list[Objective]:
    """The limits that goals set, as objectives of an audit; `good` sets none of its own."""
    return [
        Objective(goal.statistic, goal.limit_ns, source)
        for goal in goals
        if goal.limit_ns is not None
    ]


def _versions(goals: Iterable[Goal], day: date) -> list[Goal]:
    """Of each objective the latest version that had begun, unless it has ended."""
    latest: dict[object, Goal] = {}
    for goal in sorted(goals, key=lambda goal: goal.start):
        if goal.start <= day:
            latest[goal.key] = goal
    held = [goal for goal in latest.values() if goal.end is None or day < goal.end]
    return [goal for goal in goals if goal in held]
