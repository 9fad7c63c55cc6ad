"""What the good requests of a week cost, by the deployments that served them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from tokengap.slo.model import SloFile
from tokengap.utc import DAY_H
from tokengap.weekly.calendar import DAYS, Week

Work = Mapping[tuple[str, str | None], int]
"""Tokens that each service had each deployment read and write, in one week."""


@dataclass(frozen=True)
class Resources:
    """A service's part of the deployments it ran on; None where the SLO file says nothing."""

    gpus: float | None = None
    cost: float | None = None
    currency: str | None = None
    power_w: float | None = None


def resources(file: SloFile, service: str, work: Work, week: Week) -> Resources:
    """The service's part of a whole week, spare capacity included.

    A deployment that several services share is divided by the tokens it read and wrote for each.
    Costs in several currencies have no sum: None.
    """
    parts = [
        (deployment, share / DAYS)
        for day in week.days
        for deployment in file.deployments_on(day)
        if (share := _share(work, service, deployment.name)) is not None
    ]
    currencies = {d.currency for d, _ in parts if d.currency is not None}
    one_currency = len(currencies) == 1
    return Resources(
        gpus=_sum((d.gpus, share) for d, share in parts),
        cost=_sum((d.cost_per_h, share * DAYS * DAY_H) for d, share in parts)
        if one_currency
        else None,
        currency=currencies.pop() if one_currency else None,
        power_w=_sum((d.power_w, share) for d, share in parts),
    )


def _share(work: Work, service: str, deployment: str) -> float | None:
    """The service's share of what the deployment did; None if it did nothing for it."""
    whole = sum(tokens for (_, name), tokens in work.items() if name == deployment)
    own = work.get((service, deployment), 0)
    return own / whole if own else None


def _sum(parts: Iterable[tuple[int | Decimal | None, float]]) -> float | None:
    """None if one of them is not known, or there are none."""
    known = list(parts)
    if not known or any(value is None for value, _ in known):
        return None
    return sum(float(value) * share for value, share in known if value is not None)
