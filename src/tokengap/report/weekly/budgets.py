"""Error budgets, and how fast they went."""

from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row
from tokengap.report.section import Key, Section, Table
from tokengap.report.weekly.chart_budgets import PARTS, budgets_chart, pieces
from tokengap.report.weekly.promised import Promised, drawn, left_undrawn, promised
from tokengap.report.weekly.words import (
    budget_left,
    day_name,
    fired,
    moment,
    span_hours,
    window_name,
)
from tokengap.units import counted, format_count
from tokengap.weekly.model import Burn, Weekly

BUDGET_COLUMNS: Final = (
    "service", "promise", "window", "from", "may miss", "spent", "this week", "left", "lasts",
    "days with data",
)  # fmt: skip
_WORDS: Final = ("service", "promise", "window")
_LONG: Final = 365
_LASTS: Final = "Lasts: at this week's rate. A request that is missed or unknown spends budget."
_HOW: Final = (
    "A rate of 1 spends a budget exactly over its window. An hour counts as over (◆) if even the "
    "low end of the share's interval is, so one miss in a quiet hour does not. Until: the end of "
    "the hours with the highest rate, of the rule that fired or else the shortest, UTC. At the "
    "end: the rate of the last hours, one a rule."
)


def budgets(weekly: Weekly, scope: str) -> Section:
    """What targets allow to miss, and what is left of it."""
    told = promised(weekly)
    given = [each for each in told if each.promise.budget.allowed]
    bars = [_drawn(each) for each in drawn(given)]
    parts = {piece["part"] for piece in pieces(bars)}
    return Section(
        "budgets",
        "Error budgets",
        counted(len(told), "promise"),
        scope,
        legend=[Key(place, part, _KEYS[part]) for part, place in PARTS.items() if part in parts],
        chart=budgets_chart(bars) if bars else None,
        data=[_drawn(each) for each in told],
        table=Table(BUDGET_COLUMNS, [_row(each) for each in told], _WORDS, tight=True),
        notes=[_LASTS, *left_undrawn(given)],
    )


_KEYS: Final = {
    "earlier": "spent before this week",
    "this week": "spent in it",
    "over": "spent beyond the budget",
    "left": "not spent yet",
}


def _drawn(each: Promised) -> Row:
    budget = each.promise.budget
    allowed = budget.allowed or None
    before = budget.spent - budget.spent_this_week
    return {
        "name": f"{each.service} · {each.name}",
        "said": budget_left(budget) + (" left" if budget.allowed > budget.spent else ""),
        "spent_before": allowed and float(before / allowed),
        "spent_this_week": budget.spent_share,
        "left": budget.left_share,
    }


def _row(each: Promised) -> list[str]:
    budget = each.promise.budget
    return [
        each.service,
        each.name,
        window_name(each.of.service.window),
        day_name(budget.first),
        format_count(int(budget.allowed)),
        format_count(budget.spent),
        format_count(budget.spent_this_week),
        budget_left(budget),
        lasts(budget.exhausted_in_days),
        f"{budget.days_seen} of {budget.days}",
    ]


def lasts(days: float | None) -> str:
    """How long a budget lasts; a dash where it is not being spent."""
    if days is None:
        return "-"
    return f"over {_LONG} days" if days > _LONG else f"{days:.1f} days" if days else "spent"


def burn(weekly: Weekly, scope: str) -> Section:
    """How fast budgets went, over short and long times."""
    told = promised(weekly)
    rules = sorted({(rule.hours, rule.threshold) for each in told for rule in each.promise.burn})
    heads = [f"over {span_hours(hours)}, rule {threshold:g}" for hours, threshold in rules]
    columns = ("service", "promise", *heads, "highest until", "at the end")
    return Section(
        "burn",
        "Burn rates",
        f"highest rates of {counted(len(told), 'promise')}",
        scope,
        data=[row for each in told for row in _burn_data(each)],
        table=Table(columns, [_burn(each, rules) for each in told], _WORDS, tight=True),
        notes=[_HOW],
    )


def _burn(each: Promised, rules: Sequence[tuple[int, float]]) -> list[str]:
    own = {(rule.hours, rule.threshold): rule for rule in each.promise.burn}
    first = next(iter((*fired(each.promise), *each.promise.burn)), None)
    return [
        each.service,
        each.name,
        *(_highest(own.get(rule)) for rule in rules),
        moment(first.worst_until if first else None),
        " · ".join(_rate(rule.at_end) for rule in own.values() if rule.at_end is not None) or "-",
    ]


def _highest(rule: Burn | None) -> str:
    if rule is None:
        return "-"
    over = f"◆ {format_count(rule.hours_over)} h over, " if rule.hours_over else ""
    return f"{over}{_rate(rule.worst)}"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.3g}"


def _burn_data(each: Promised) -> Iterator[Row]:
    for rule in each.promise.burn:
        yield {
            "service": each.service,
            "promise": each.promise.name,
            "hours": rule.hours,
            "threshold": rule.threshold,
            "worst": rule.worst,
            "worst_until": rule.worst_until and rule.worst_until.isoformat(),
            "at_end": rule.at_end,
            "hours_over": rule.hours_over,
        }
