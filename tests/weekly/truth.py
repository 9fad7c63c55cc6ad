"""What a week's report must count, by the plain verdicts on the generated requests."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import chain

from tests.weekly.generated import Request
from tests.weekly.plain import Verdicts, judge
from tokengap.slo.model import Goal, SloFile
from tokengap.utc import hour_start
from tokengap.weekly.calendar import DAYS, HOURS, Week


@dataclass(frozen=True)
class Tally:
    """How often a promise was kept."""

    met: int = 0
    missed: int = 0
    unknown: int = 0

    @property
    def applies(self) -> int:
        """Requests that count."""
        return self.met + self.missed + self.unknown


class Truth:
    """All requests with their verdicts, to be counted by service and days."""

    def __init__(self, requests: Iterable[Request], slo: SloFile) -> None:
        self.services = {service.name: service for service in slo.services}
        self._slo = slo
        self._excluded = {name: slo.exclusions_of(name) for name in self.services}
        self._by_day: dict[tuple[str, date], list[Verdicts]] = defaultdict(list)
        self.left_out: list[Request] = []
        """Requests in a span that is excluded."""
        for request in requests:
            spans = self._excluded[request.service]
            if any(span.start <= request.sent < span.end for span in spans):
                self.left_out.append(request)
            else:
                judged = judge(request, self.services[request.service])
                self._by_day[request.service, request.sent.date()].append(judged)

    def day(self, service: str, day: date) -> list[Verdicts]:
        """Verdicts on the service's requests of the day."""
        return self._by_day[service, day]

    def week(self, service: str, week: Week) -> list[Verdicts]:
        """Verdicts on the service's requests of the week."""
        return list(chain.from_iterable(self.day(service, day) for day in week.days))

    def hours(self, service: str, week: Week) -> tuple[list[int], list[int]]:
        """Hours since 1970 of the week for which something is promised; those with requests."""
        first = week.start_ns // 10**9 // 3600
        due = [
            hour
            for hour in range(first, first + HOURS)
            if not any(s.start <= hour_start(hour) < s.end for s in self._excluded[service])
        ]
        seen = {one.request.sent_ns // 10**9 // 3600 for one in self.week(service, week)}
        return due, sorted(seen.intersection(due))

    def resources(self, service: str, week: Week) -> tuple[float, float]:
        """GPUs and cost of the week: of a deployment, the part of the tokens that is the service's.

        Machines run in spans that are excluded, too.
        """
        weeks = (self.week(name, week) for name in self.services)
        ours = [one.request for one in chain.from_iterable(weeks)]
        tokens = Counter[tuple[str, str]]()
        for request in [*ours, *(r for r in self.left_out if r.sent.date() in week.days)]:
            answers = sum(answer.output_tokens for answer in request.answers)
            tokens[request.facts["deployment"], request.service] += request.prompt_tokens + answers
        gpus, cost = 0.0, 0.0
        for day in week.days:
            for deployment in self._slo.deployments_on(day):
                whole = sum(tokens[deployment.name, name] for name in self.services)
                part = tokens[deployment.name, service] / whole
                gpus += part * (deployment.gpus or 0) / DAYS
                cost += part * float(deployment.cost_per_h or 0) * HOURS / DAYS
        return gpus, cost


def tallies(verdicts: Iterable[Verdicts]) -> dict[str, Tally]:
    """By name of the promise, over the offered requests; `good` has no unknown."""
    counts = Counter[tuple[str, str]]()
    for one in verdicts:
        for goal in one.goals if one.is_offered else ():
            verdict = one.by_statistic.get(goal.statistic, "met" if one.is_good else "missed")
            counts[_name(goal), verdict] += 1
    names = {name for name, _ in counts}
    return {
        name: Tally(*(counts[name, verdict] for verdict in ("met", "missed", "unknown")))
        for name in sorted(names)
    }


@dataclass
class Spent:
    """Misses that a target allows in its window up to the week's end, and those there were."""

    allowed: Fraction = Fraction(0)
    spent: int = 0
    spent_this_week: int = 0


def budgets(truth: Truth, service: str, week: Week) -> dict[str, Spent]:
    """By name of the promise; each day's requests by the target of that day."""
    first, _ = truth.services[service].window.span(week.last)
    found: dict[str, Spent] = defaultdict(Spent)
    for step in range((week.after - first).days):
        day = first + timedelta(step)
        targets = {_name(goal): goal.target for goal in truth.services[service].on(day)}
        for name, tally in tallies(truth.day(service, day)).items():
            found[name].allowed += tally.applies * (1 - Fraction(targets[name]))
            found[name].spent += tally.applies - tally.met
            found[name].spent_this_week += (tally.applies - tally.met) * (day >= week.first)
    return found


def _name(goal: Goal) -> str:
    """As the report calls the promise."""
    return " ".join((goal.statistic, *(f"{column}={glob}" for column, glob in goal.only.items())))


def spans(hours: Iterable[int]) -> list[tuple[datetime, datetime]]:
    """Hours since 1970 as spans without a break, longest first."""
    found: list[list[int]] = []
    for hour in hours:
        if found and found[-1][1] == hour:
            found[-1][1] += 1
        else:
            found.append([hour, hour + 1])
    found.sort(key=lambda span: (span[0] - span[1], span[0]))
    return [(hour_start(start), hour_start(end)) for start, end in found]
