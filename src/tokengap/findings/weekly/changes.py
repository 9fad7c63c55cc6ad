"""What changed since the week before: every promise of every service, judged together."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tokengap.findings.cells import cells_from
from tokengap.findings.weekly.gathered import Gathered, in_force_at_end
from tokengap.slo.model import Goal, Service
from tokengap.utc import day_number
from tokengap.weekly.calendar import DAYS, HOURS, Week
from tokengap.weekly.cells import Cells
from tokengap.weekly.comparable import why_not
from tokengap.weekly.compare import compare, least_change, tests_of
from tokengap.weekly.model import CANNOT_TELL, NOT_COMPARABLE, Change


@dataclass(frozen=True)
class Asked:
    """A promise to be compared, and what of it there is; cells None where it cannot be."""

    goal: Goal
    cells: Cells | None
    says: str = ""
    verdict: str = NOT_COMPARABLE
    requests_before: int = 0
    requests: int = 0

    @property
    def change(self) -> Change:
        """What is to be said where there are no cells."""
        counts = (self.requests_before, self.requests)
        return Change(self.verdict, self.says, None, None, None, None, *counts)


def asked_of(found: Gathered, service: Service, goal: Goal, week: Week) -> Asked:
    """The cells of a promise in this week and the one before."""
    held = in_force_at_end(week)
    numbers = {
        profile.number
        for profile in found.profiles
        if profile.service.name == service.name
        and (now := held(profile, week.last).get(goal.statistic)) is not None
        and now.key == goal.key
    }
    before, now = (
        [row for row in rows if row["profile"] in numbers]
        for rows in (found.places_before, found.places)
    )
    if not now:
        return Asked(goal, None, "no request this week", CANNOT_TELL)
    if not before:
        return _without_before(found, service, goal, week)
    if found.declared_otherwise:
        return Asked(goal, None, "rows of pruned days were made under other declarations")
    if (says := why_not(goal.statistic, before, now)) is not None:
        counts = (sum(row["offered"] for row in rows) for rows in (before, now))
        return Asked(goal, None, says, NOT_COMPARABLE, *counts)
    return Asked(goal, cells_of(found.cells, numbers, goal.statistic, week))


def _without_before(found: Gathered, service: Service, goal: Goal, week: Week) -> Asked:
    vantage = found.vantages.get(service.name)
    others = seen_at(found, week.back(1)) - {vantage}
    if others and vantage not in seen_at(found, week.back(1)):
        says = f"seen at the {vantage} now, and only at the {' and '.join(sorted(others))} before"
        return Asked(goal, None, says)
    return Asked(goal, None, "no request in the week before", CANNOT_TELL)


def seen_at(found: Gathered, week: Week) -> set[str]:
    """Vantages at which the week has rows of any service."""
    first = day_number(week.first)
    days = range(first, first + DAYS)
    return {v for row in found.vantages_by_day if row["day"] in days for v in row["vantages"]}


def compared(asked: Mapping[Any, Asked]) -> tuple[dict[Any, Change], int]:
    """The change of each promise, and how many intervals hold together."""
    comparisons = sum(tests_of(each.cells) for each in asked.values() if each.cells is not None)
    changes = {
        key: each.change
        if each.cells is None
        else compare(each.cells, least_change(each.goal.target), comparisons)
        for key, each in asked.items()
    }
    return changes, comparisons


def cells_of(table: Any, profiles: Collection[int], statistic: str, week: Week) -> Cells:
    """Rows of `promised_cells` as the week's cells and those of the week before, hour by hour."""
    ours = np.isin(table["profile"].to_numpy(), list(profiles))
    ours &= table["statistic"].to_numpy() == statistic
    cells = cells_from(table.filter(ours))
    since = cells.block - week.back(1).first_hour
    return replace(cells, now=since >= HOURS, block=since % HOURS)
