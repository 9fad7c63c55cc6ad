"""Promises of a week with the service that made them."""

from dataclasses import dataclass

from tokengap.report.weekly.words import promise_name
from tokengap.report.words import plain
from tokengap.weekly.model import Promise, ServiceWeek, Weekly


@dataclass(frozen=True)
class Promised:
    """One promise, and the week of its service."""

    of: ServiceWeek
    promise: Promise

    @property
    def service(self) -> str:
        """The service's name."""
        return plain(self.of.service.name)

    @property
    def name(self) -> str:
        """The promise with its limit."""
        return promise_name(self.of.service, self.promise.goal)

    @property
    def short(self) -> str:
        """The service, and the promise without its limit."""
        return f"{self.service} {promise_name(self.of.service, self.promise.goal, limit=False)}"


def promised(weekly: Weekly) -> list[Promised]:
    """All promises, in the order of the file."""
    return [Promised(of, promise) for of in weekly.services for promise in of.promises]
