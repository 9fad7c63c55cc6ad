"""Promises of a week with the service that made them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tokengap.report.weekly.words import promise_name
from tokengap.report.words import plain
from tokengap.units import counted
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
        return f"{self.service} {self.bare}"

    @property
    def bare(self) -> str:
        """The promise without its limit."""
        return promise_name(self.of.service, self.promise.goal, limit=False)


DRAWN: Final = 12
"""Promises in a chart; tables hold all."""


def drawn(told: Sequence[Promised]) -> list[Promised]:
    """Those of a chart: all if there are few, else missed ones first."""
    if len(told) <= DRAWN:
        return list(told)
    return sorted(told, key=lambda each: each.promise.is_kept is not False)[:DRAWN]


def left_undrawn(told: Sequence[Promised]) -> list[str]:
    """A note on those that the chart leaves out."""
    more = len(told) - DRAWN
    return [f"The tables hold {counted(more, 'more promise')}."] if more > 0 else []


def promised(weekly: Weekly) -> list[Promised]:
    """All promises, in the order of the file."""
    return [Promised(of, promise) for of in weekly.services for promise in of.promises]
