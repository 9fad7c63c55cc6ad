"""Latency objectives: read from the command line and from TOML files, and checked.

    [limits]
    tpot = "50ms"
    worst_gap = "100ms"

Whether a stream meets them is worked out in SQL, from exact integers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from tokengap.errors import UnitError, UsageError
from tokengap.slo.document import did_you_mean, read_toml
from tokengap.units import parse_duration_ns

STATISTICS: Final = {
    "ttft": "wait from the request's origin to its first token",
    "tpot": "average time per token after the first delivery",
    "gap_p50": "median of the request's own gaps",
    "gap_p90": "90th percentile of the request's own gaps",
    "gap_p99": "99th percentile of the request's own gaps",
    "worst_gap": "longest gap between two deliveries of the request",
    "handoff_gap": "gap in which prefill hands over to decode",
    "e2e": "wait from the request's origin to its last token",
}
"""What can carry a limit, in the order in which it is shown."""

COMMAND_LINE: Final = "--limit"
_TABLE: Final = "limits"
_SERVICES: Final = "service"


@dataclass(frozen=True)
class Objective:
    """An inclusive upper limit on one statistic, and where it was set."""

    statistic: str
    """A key of `STATISTICS`."""
    limit_ns: int
    """More than 0."""
    source: str
    """`--limit`, or the path of the file."""


def parse_limit(text: str) -> Objective:
    """Read a limit of the command line.

    UsageError if it is not STATISTIC=DURATION; UnitError if the duration has no unit.

    >>> parse_limit("tpot=50ms")
    Objective(statistic='tpot', limit_ns=50000000, source='--limit')
    """
    statistic, equals, duration = text.partition("=")
    if not equals:
        raise UsageError(
            f"{COMMAND_LINE} {text}: expected STATISTIC=DURATION, such as tpot=50ms; "
            f"the statistics are {', '.join(STATISTICS)}"
        )
    statistic = statistic.strip()
    limit_ns = _limit_ns(statistic, duration, f"{COMMAND_LINE} {text}")
    return Objective(statistic, limit_ns, COMMAND_LINE)


def read_slo(path: Path) -> list[Objective]:
    """Read the limits of an SLO file, in the order of `STATISTICS`.

    UsageError if the file cannot be read, or holds anything but known limits with units.
    """
    document = read_toml(path)
    if _SERVICES in document.data:
        raise UsageError(
            f"{document.place((_SERVICES,))}: [[{_SERVICES}]] holds objectives by date, not "
            f"[{_TABLE}]; `tokengap audit --slo {path} --service NAME` judges by one of them"
        )
    for key in document.data:
        if key != _TABLE:
            raise UsageError(
                f"{document.place((key,))}: unknown key {key}; only a table [{_TABLE}] is read"
                + did_you_mean(key, [_TABLE])
            )
    limits = document.data.get(_TABLE)
    if not isinstance(limits, dict) or not limits:
        raise UsageError(
            f"{document.place((_TABLE,))}: no limits; "
            f'write a table [{_TABLE}] with lines such as tpot = "50ms"'
        )
    return _all_stated(
        limits, str(path), lambda key: f"{document.place((_TABLE, key))}: {_TABLE}.{key}"
    )


def stated_limits(limits: Mapping[str, object]) -> list[Objective]:
    """Limits such as `{"tpot": "50ms"}`, in the order of `STATISTICS`.

    UsageError for an unknown statistic or what is no text; UnitError for a number without a unit.
    """
    return _all_stated(limits, _TABLE, lambda key: f"{_TABLE}.{key}")


def combine(from_file: Sequence[Objective], from_cli: Sequence[Objective]) -> list[Objective]:
    """All limits that hold, in the order of `STATISTICS`: the command line's replace the file's.

    UsageError if the command line gives one statistic two different limits.
    """
    chosen = {objective.statistic: objective for objective in from_file}
    given: dict[str, Objective] = {}
    for objective in from_cli:
        earlier = given.setdefault(objective.statistic, objective)
        if earlier.limit_ns != objective.limit_ns:
            raise UsageError(
                f"{COMMAND_LINE} {objective.statistic} is given twice, as {earlier.limit_ns} ns "
                f"and as {objective.limit_ns} ns; keep one"
            )
    return _in_order((chosen | given).values())


def sql_parameter(objectives: Iterable[Objective]) -> list[dict[str, str | int]]:
    """Limits as the `objectives` parameter of the query library: structs of statistic, limit_ns."""
    return [{"statistic": o.statistic, "limit_ns": o.limit_ns} for o in objectives]


def _in_order(objectives: Iterable[Objective]) -> list[Objective]:
    order = list(STATISTICS)
    return sorted(objectives, key=lambda objective: order.index(objective.statistic))


def _all_stated(
    limits: Mapping[str, object], source: str, place: Callable[[str], str]
) -> list[Objective]:
    return _in_order(
        Objective(key, stated_limit_ns(key, value, place(key)), source)
        for key, value in limits.items()
    )


def stated_limit_ns(statistic: str, value: object, place: str) -> int:
    """The limit that a file states for a statistic, in ns; `place` starts every message.

    UsageError for an unknown statistic, no text or 0; UnitError for a number without a unit.
    """
    if isinstance(value, str):
        return _limit_ns(statistic, value, place)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        raise UnitError(f'{place} = {value} has no unit; write "{value}ms" or "{value}s"')
    raise UsageError(f'{place}: expected a duration in quotes, such as "50ms"')


def _limit_ns(statistic: str, duration: str, place: str) -> int:
    check_statistic(statistic, place)
    try:
        limit_ns = parse_duration_ns(duration)
    except UnitError as error:
        raise UnitError(f"{place}: {error}") from error
    if limit_ns == 0:
        raise UsageError(f"{place}: a limit of 0 leaves no time at all; give one above 0")
    return limit_ns


def check_statistic(statistic: str, place: str, known: Iterable[str] = STATISTICS) -> None:
    """UsageError for a statistic that is not among the known ones; `place` starts the message."""
    known = list(known)
    if statistic in known:
        return
    names = f"the statistics are {', '.join(known)}"
    if "itl" in statistic.lower().split("_"):
        raise UsageError(
            f"{place}: {statistic} could mean three things: tpot (average per token), gap_p99 "
            "(tail of the request's own gaps) or worst_gap (its longest one); "
            f"write the one you mean; {names}"
        )
    raise UsageError(
        f"{place}: no statistic is called {statistic!r}{did_you_mean(statistic, known)}; {names}"
    )
