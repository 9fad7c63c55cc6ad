"""Which requests are judged alike: the services and promises of every combination of columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from tokengap.slo.model import MATCHED, Goal, Service, SloFile, fits

Columns = tuple[str | None, ...]
"""Values of `MATCHED`, in its order; None where the log says nothing."""


@dataclass
class Profile:
    """Requests of one service that the same promises are about."""

    number: int
    service: Service
    request: Mapping[str, str | None]
    """One of them, for all."""
    members: list[Columns] = field(default_factory=list)
    _held: dict[date, dict[str, Goal]] = field(default_factory=dict)

    def goals(self, day: date) -> Mapping[str, Goal]:
        """What holds for these requests on that day, by statistic."""
        if day not in self._held:
            held = self.service.in_force(day, self.request)
            self._held[day] = {goal.statistic: goal for goal in held}
        return self._held[day]


def profiles_of(
    file: SloFile, combinations: Iterable[Columns]
) -> tuple[list[Profile], list[Columns]]:
    """The profiles of these combinations, and those that belong to no service."""
    profiles: dict[object, Profile] = {}
    strangers: list[Columns] = []
    for columns in combinations:
        request = dict(zip(MATCHED, columns, strict=True))
        service = file.service_of(request)
        if service is None:
            strangers.append(columns)
            continue
        key = (service.name, _about(service.goals, request))
        profile = profiles.setdefault(key, Profile(len(profiles), service, request))
        profile.members.append(columns)
    return list(profiles.values()), strangers


def _about(goals: Sequence[Goal], request: Mapping[str, str | None]) -> tuple[bool, ...]:
    """Which of the goals are about the request, whenever they hold."""
    return tuple(
        all(fits((glob,), request.get(column)) for column, glob in goal.only.items())
        for goal in goals
    )
