"""One service of an SLO file, as an audit judges by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tokengap.errors import UsageError
from tokengap.slo.document import did_you_mean
from tokengap.slo.limits import Objective
from tokengap.slo.model import Service, limits_of
from tokengap.slo.services import read_services


@dataclass(frozen=True)
class Judged:
    """Limits that hold for all requests of a service on a day, and where they are about."""

    objectives: Sequence[Objective]
    vantage: str | None
    origin: str | None
    handoff: str


def judged_by(path: Path, name: str, day: date) -> Judged:
    """What the service `name` of the file has an audit judge by on that day.

    UsageError if the file is wrong or has no such service, or if no limit holds for everybody.
    """
    service = _named(path, name)
    objectives = limits_of(service.in_force(day), f"{path}, service {name}")
    if not objectives:
        raise UsageError(
            f"{path}: service {name} has no limit that holds for all its requests on {day}; "
            f"`tokengap slo check {path}` says what holds when"
        )
    return Judged(objectives, service.vantage, service.origin, service.handoff)


def _named(path: Path, name: str) -> Service:
    services = {service.name: service for service in read_services(path).services}
    if name not in services:
        hint = did_you_mean(name, services)
        raise UsageError(
            f"--service {name}: {path} has no such service{hint}; it has {', '.join(services)}"
        )
    return services[name]
