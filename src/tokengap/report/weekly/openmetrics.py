"""A week as OpenMetrics text that node exporter's textfile collector reads too.

That collector knows the older Prometheus text format alone: so there are only gauges (it refuses
types such as info and stateset), no timestamps (it refuses the file), and the last line is a
comment to it. What is not known has no sample. Tenants, workers and requests are no labels: one
series would be born with each of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    Burn,
    Promise,
    ServiceWeek,
    Weekly,
)

SUFFIX: Final = ".prom"
"""Of the files that node exporter reads."""
_VERDICTS: Final = (BETTER, WORSE, CANNOT_TELL, NOT_COMPARABLE)
_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_Labels = Mapping[str, str]
_Sample = tuple[_Labels, float | None]


@dataclass(frozen=True)
class Family:
    """A gauge: its samples have different labels, and None where nothing is known."""

    name: str
    help: str
    samples: Callable[[Weekly], Iterable[_Sample]]


def openmetrics(weekly: Weekly) -> str:
    """Every gauge of the week, the same text for the same week."""
    return (
        "".join(line + "\n" for family in FAMILIES for line in _lines(family, weekly)) + "# EOF\n"
    )


def _lines(family: Family, weekly: Weekly) -> Iterator[str]:
    known = [(labels, value) for labels, value in family.samples(weekly) if value is not None]
    if known:
        yield f"# HELP {family.name} {family.help}"
        yield f"# TYPE {family.name} gauge"
    for labels, value in known:
        within = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
        yield f"{family.name}{'{' + within + '}' if within else ''} {float(value)!r}"


def _of_service(
    value: Callable[[ServiceWeek], float | None],
) -> Callable[[Weekly], Iterator[_Sample]]:
    def samples(weekly: Weekly) -> Iterator[_Sample]:
        for week in weekly.services:
            yield {"service": week.service.name}, value(week)

    return samples


def _promises(weekly: Weekly) -> Iterator[tuple[dict[str, str], Promise]]:
    for week in weekly.services:
        for promise in week.promises:
            yield {"service": week.service.name, "promise": promise.name}, promise


def _of_promise(value: Callable[[Promise], float | None]) -> Callable[[Weekly], Iterator[_Sample]]:
    def samples(weekly: Weekly) -> Iterator[_Sample]:
        for labels, promise in _promises(weekly):
            yield labels, value(promise)

    return samples


def _of_burn(value: Callable[[Burn], float | None]) -> Callable[[Weekly], Iterator[_Sample]]:
    def samples(weekly: Weekly) -> Iterator[_Sample]:
        for labels, promise in _promises(weekly):
            for rule in promise.burn:
                yield {**labels, "window": f"{rule.hours}h"}, value(rule)

    return samples


def _verdicts(weekly: Weekly) -> Iterator[_Sample]:
    for labels, promise in _promises(weekly):
        for verdict in _VERDICTS:
            yield {**labels, "verdict": verdict}, promise.change.verdict == verdict


def _costs(weekly: Weekly) -> Iterator[_Sample]:
    for week in weekly.services:
        for trend in week.trend[-1:]:
            labels = {"service": week.service.name, "currency": trend.currency or ""}
            yield labels, trend.cost_per_good


def _goodput(week: ServiceWeek) -> float | None:
    return week.trend[-1].goodput_per_s if week.trend else None


FAMILIES: Final = (
    Family(
        "tokengap_week_start_timestamp_seconds",
        "First instant of the reported week, in UTC.",
        lambda weekly: [({}, weekly.week.start_ns // 10**9)],
    ),
    Family(
        "tokengap_attainment_ratio",
        "Share of the requests that the promise applies to which kept it; unknown is not kept.",
        _of_promise(lambda promise: promise.kept.attainment),
    ),
    Family(
        "tokengap_attainment_low_ratio",
        "Low end of the 95 % interval of the attainment.",
        _of_promise(lambda promise: promise.kept.low),
    ),
    Family(
        "tokengap_attainment_high_ratio",
        "High end of the 95 % interval of the attainment.",
        _of_promise(lambda promise: promise.kept.high),
    ),
    Family(
        "tokengap_target_ratio",
        "Share of the requests that shall keep the promise.",
        _of_promise(lambda promise: float(promise.goal.target)),
    ),
    Family(
        "tokengap_budget_spent_ratio",
        "Of the misses that the target allows over its window: those of this week.",
        _of_promise(lambda promise: promise.budget.spent_share),
    ),
    Family(
        "tokengap_budget_left_ratio",
        "Of the misses that the target allows over its window: what is left; below 0 if overspent.",
        _of_promise(lambda promise: promise.budget.left_share),
    ),
    Family(
        "tokengap_burn_rate",
        "Pace at which the budget went in the last hours of the week; 1 spends it in one window.",
        _of_burn(lambda rule: rule.at_end),
    ),
    Family(
        "tokengap_burn_rate_worst",
        "Highest pace at which the budget went over so many hours of the week.",
        _of_burn(lambda rule: rule.worst),
    ),
    Family(
        "tokengap_burn_over_threshold_hours",
        "Hours of the week at which the pace was over the threshold of its rule.",
        _of_burn(lambda rule: rule.hours_over),
    ),
    Family(
        "tokengap_change",
        "1 for the verdict on this week against the one before, 0 for the others.",
        _verdicts,
    ),
    Family(
        "tokengap_coverage_ratio",
        "Share of the hours of the week, without excluded ones, that have requests.",
        _of_service(lambda week: week.coverage.share),
    ),
    Family(
        "tokengap_offered_requests",
        "Requests of the week that count.",
        _of_service(lambda week: week.offered),
    ),
    Family(
        "tokengap_good_requests",
        "Requests of the week that kept every limit.",
        _of_service(lambda week: week.whole.met),
    ),
    Family(
        "tokengap_hidden_stalls_requests",
        "Completed requests that met their average and missed their worst gap.",
        _of_service(lambda week: None if week.stalls is None else week.stalls.count),
    ),
    Family(
        "tokengap_goodput_requests_per_second",
        "Good requests per second of the hours with data.",
        _of_service(_goodput),
    ),
    Family("tokengap_cost_per_good_request", "What a good request cost.", _costs),
)
