"""Read `[[service]]`, `[[deployment]]` and `[[exclusion]]` of a document, and check them."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final, NoReturn

from tokengap.choices import CHOICES
from tokengap.errors import UsageError
from tokengap.slo.document import Document, did_you_mean, read_toml
from tokengap.slo.limits import check_statistic, stated_limit_ns
from tokengap.slo.model import (
    GOOD,
    MATCHED,
    MONTH,
    NARROWED,
    PROMISED,
    ROLLING,
    WEEK,
    Deployment,
    Exclusion,
    Goal,
    Service,
    SloFile,
    Window,
)
from tokengap.slo.table import Table

LONGEST_DESCRIPTION: Final = 1050
"""Characters; as in OpenSLO."""
LONGEST_ROLLING_DAYS: Final = 366
ROLLING_DAYS: Final = re.compile(r"([1-9][0-9]{0,3})([dw])")
DAYS_OF: Final = {"d": 1, "w": 7}
_TOP: Final = ("service", "deployment", "exclusion")
_SERVICE: Final = (
    "name", "description", "match", "vantage", "origin", "handoff", "window", "objective",
)  # fmt: skip
_OBJECTIVE: Final = ("statistic", "limit", "target", "from", "until", *NARROWED)
_DEPLOYMENT: Final = ("name", "from", "gpus", "cost_per_h", "currency", "power_w")
_EXCLUSION: Final = ("from", "until", "reason", "service")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DATE: Final = "2026-01-31"


def read_services(path: Path) -> SloFile:
    """Read what an SLO file promises.

    UsageError if it cannot be read or is wrong: the message names the line and what to write.
    """
    return services_of(read_toml(path))


def services_of(document: Document) -> SloFile:
    """What a document promises; UsageError if it is wrong."""
    top = Table(document, (), _TOP) if "limits" not in document.data else _refuse_limits(document)
    tables = list(top.tables("service", _SERVICE))
    if not tables:
        raise UsageError(
            f'{document.name}: no service; write [[service]] with a name, such as name = "chat"'
        )
    services = tuple(_service(table) for table in tables)
    _check_reached(tables, services)
    deployments = [_deployment(table) for table in top.tables("deployment", _DEPLOYMENT)]
    _once(top, "deployment", ((d.name, d.start) for d in deployments), "name and from")
    names = [service.name for service in services]
    exclusions = [_exclusion(table, names) for table in top.tables("exclusion", _EXCLUSION)]
    return SloFile(services, tuple(deployments), tuple(exclusions))


def _service(table: Table) -> Service:
    name = table.needed(table.text, "name", '"chat"')
    if not _NAME.fullmatch(name):
        table.fail("name", "expected a-z, 0-9 and - inside, at most 63 of them")
    goals = [_goal(inner) for inner in table.tables("objective", _OBJECTIVE)]
    if not goals:
        raise UsageError(f"{table.place()}: {name} promises nothing; write [[service.objective]]")
    keys = ((goal.key, goal.start) for goal in goals)
    _once(table, "objective", keys, f"{', '.join(NARROWED)}, statistic and from")
    return Service(
        name,
        tuple(goals),
        match=_match(table),
        description=_description(table),
        vantage=table.choice("vantage", CHOICES["vantage"]),
        origin=table.choice("origin", CHOICES["origin"]),
        handoff=table.choice("handoff", CHOICES["handoff"]) or Service.handoff,
        window=_window(table),
    )


def _description(table: Table) -> str | None:
    text = table.text("description")
    if text is not None and len(text) > LONGEST_DESCRIPTION:
        table.fail("description", f"expected {LONGEST_DESCRIPTION} characters at most")
    return text


def _match(table: Table) -> dict[str, tuple[str, ...]]:
    if "match" not in table.data:
        return {}
    rules = table.inner("match", MATCHED)
    return {column: rules.texts(column) for column in MATCHED if column in rules.data}


def _window(table: Table) -> Window:
    text = table.text("window")
    if text is None:
        return Service.window
    if text in {WEEK, MONTH}:
        return Window(text)
    rolling = ROLLING_DAYS.fullmatch(text)
    days = int(rolling[1]) * DAYS_OF[rolling[2]] if rolling else 0
    if not 0 < days <= LONGEST_ROLLING_DAYS:
        most = f'"{LONGEST_ROLLING_DAYS}d" at most'
        table.fail("window", f'expected days that roll, such as "28d", {most}; "week" or "month"')
    return Window(ROLLING, days)


def _goal(table: Table) -> Goal:
    statistic = table.needed(table.text, "statistic", '"worst_gap"')
    check_statistic(statistic, table.place("statistic"), PROMISED)
    limit_ns = None
    if statistic != GOOD:
        limit = table.needed(table.data.get, "limit", '"500ms"')
        limit_ns = stated_limit_ns(statistic, limit, table.place("limit"))
    elif "limit" in table.data:
        table.fail("limit", f"{GOOD} has no limit of its own: every other one must be met")
    start, end = _from(table), table.day("until")
    if end is not None and end <= start:
        table.fail("until", f"the first day without it must come after {start}, its first")
    only = {column: glob for column in NARROWED if (glob := table.text(column)) is not None}
    return Goal(statistic, limit_ns, _target(table), start, end, only)


def _target(table: Table) -> Decimal:
    target = table.needed(table.number, "target", "0.99")
    if target == 1:
        table.fail("target", "leaves no budget, so the first miss breaks it; write 0.999")
    if target > 1:
        meant = f"; {target} % is {target / 100}" if target < 100 else ""  # noqa: PLR2004 (percent)
        table.fail("target", f"expected a share below 1{meant}")
    return target


def _from(table: Table) -> date:
    return table.needed(table.day, "from", f"{_DATE}, the first day on which it holds")


def _deployment(table: Table) -> Deployment:
    name = table.needed(table.text, "name", '"chat-eu"')
    costs, currency = table.number("cost_per_h"), table.text("currency")
    if (costs is None) != (currency is None):
        raise UsageError(f"{table.place()}: cost_per_h and currency belong together; give both")
    gpus, power = table.count("gpus"), table.number("power_w")
    if gpus is None and costs is None and power is None:
        raise UsageError(f"{table.place()}: says nothing; give gpus, cost_per_h or power_w")
    return Deployment(name, _from(table), gpus, costs, currency, power)


def _exclusion(table: Table, services: Collection[str]) -> Exclusion:
    start = table.needed(table.moment, "from", "2026-01-31T02:00:00Z")
    end = table.needed(table.moment, "until", "2026-01-31T04:00:00Z")
    if end <= start:
        table.fail("until", "the end must come after the start")
    reason = table.needed(table.text, "reason", '"what was done, and who knows"')
    named = table.texts("service")
    for name in named:
        if name not in services:
            table.fail("service", f"no service is called {name}{did_you_mean(name, services)}")
    return Exclusion(start, end, reason, named)


def _check_reached(tables: Iterable[Table], services: Iterable[Service]) -> None:
    """A request goes to the first service that takes it: one without rules takes all."""
    names = Counter[str]()
    open_to_all: str | None = None
    for table, service in zip(tables, services, strict=True):
        names[service.name] += 1
        if names[service.name] > 1:
            table.fail("name", "is given twice; keep one")
        if open_to_all is not None:
            table.fail(
                "name",
                f"gets no request: {open_to_all}, before it, has no match rules and takes "
                f"all; write {open_to_all} last",
            )
        if not service.match:
            open_to_all = service.name


def _once(table: Table, key: str, keys: Iterable[object], words: str) -> None:
    seen = set()
    for index, found in enumerate(keys):
        if found in seen:
            place = table.document.place((*table.path, key, index))
            raise UsageError(f"{place}: {key}: a second one with the same {words}; keep one")
        seen.add(found)


def _refuse_limits(document: Document) -> NoReturn:
    raise UsageError(
        f"{document.place(('limits',))}: [limits] are the limits of one audit; a file with "
        "[[service]] has them as [[service.objective]]"
    )
