"""Who and what the misses are about: hidden stalls, contributors, the worst requests."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tokengap.findings.audit import Row
from tokengap.report.section import Key, Section, Table
from tokengap.report.theme import PLACES, SQUARE, Place
from tokengap.report.weekly.actions import OF_MISSES, beyond, top, value
from tokengap.report.weekly.chart_contributors import contributors_chart
from tokengap.report.weekly.words import log_text, moment, statistic_name
from tokengap.report.words import plain
from tokengap.units import counted, format_count, format_duration, format_share
from tokengap.weekly.model import Contributor, HiddenStalls, ServiceWeek, Weekly, WorstRequest

DRAWN: Final = 1
"""Values of a dimension in the chart."""
TOLD: Final = 2
"""Values of a dimension in the table; JSON and CSV hold all."""
WORST: Final = 6
"""Requests of a service in the table; JSON and CSV hold all."""
_STALL_COLUMNS: Final = (
    "service", "hidden stalls", "of completed", "share", "possible", "week before", "share before",
)  # fmt: skip
_CONTRIBUTOR_COLUMNS: Final = (
    "service", "what", "which", "requests", "of all", "bad", "of the misses", "kept",
)  # fmt: skip
_WORST_COLUMNS: Final = (
    "service", "request", "waited", "times limit", "began, UTC", "tenant", "model", "worker",
    "cause", "tokens in + out",
)  # fmt: skip
_GATHERS: Final = (
    "More than its part explains: a fifth of the misses or more, at least 1.25 times its part of "
    "the requests, and three standard deviations beyond it. A cause is that of long worst gaps."
)
_STALLS: Final = (
    "Completed requests that met their average TPOT and missed their worst gap; possible ones are "
    "those of which the log leaves one verdict open."
)
_TICK: Final = Place("tick", "var(--ink)", "M-0.25,-1.3H0.25V1.3H-0.25Z")


def stalls(weekly: Weekly, scope: str) -> Section | None:
    """Requests that are fine on average and stalled; None unless both limits are promised."""
    found = [(of, of.stalls) for of in weekly.services if of.stalls]
    if not found:
        return None
    return Section(
        "hidden_stalls",
        "Hidden stalls",
        f"n {format_count(sum(each.completed for _, each in found))} completed requests",
        scope,
        table=Table(_STALL_COLUMNS, [_stalls(*each) for each in found], ("service",), tight=True),
        notes=[_STALLS],
    )


def _stalls(of: ServiceWeek, found: HiddenStalls) -> list[str]:
    return [
        plain(of.service.name),
        format_count(found.count),
        format_count(found.completed),
        _part(found.count, found.completed),
        format_count(found.possible),
        "-" if found.before is None else format_count(found.before),
        _part(found.before, found.completed_before),
    ]


def _part(count: int | None, of: int | None) -> str:
    return "-" if count is None or not of else format_share(count / of)


def contributors(weekly: Weekly, scope: str) -> Section | None:
    """Where requests that were not good gather; None if all were good."""
    told = [(of, each) for of in weekly.services for each in _first(of, TOLD)]
    if not told:
        return None
    drawn = [
        _bar(of, each)
        for of in weekly.services
        for each in sorted(_first(of, DRAWN), key=lambda each: (each not in top(of), -beyond(each)))
    ]
    bad = sum(of.whole.bad for of in weekly.services)
    return Section(
        "contributors",
        "Where misses gather",
        f"n {format_count(bad)} offered requests that were not good",
        scope,
        legend=list(_legend(drawn)),
        chart=contributors_chart(drawn),
        data=[_contributor_data(of, each) for of in weekly.services for each in of.contributors],
        table=Table(
            _CONTRIBUTOR_COLUMNS, [_contributor(*p) for p in told], _CONTRIBUTOR_WORDS, tight=True
        ),
        notes=[_GATHERS],
    )


_CONTRIBUTOR_WORDS: Final = ("service", "what", "which")


def _first(of: ServiceWeek, count: int) -> Iterator[Contributor]:
    """The first values of each dimension that tells requests apart."""
    seen: Counter[str] = Counter()
    for each in of.contributors:
        if each.offered < of.offered and seen[each.dimension] < count:
            seen[each.dimension] += 1
            yield each


def _bar(of: ServiceWeek, each: Contributor) -> Row:
    return {
        "name": f"{plain(of.service.name)} · {_what(each)} {value(each)}",
        "said": f"{format_share(each.bad_share)} of misses",
        "bad_share": each.bad_share,
        "offered_share": None if each.dimension in OF_MISSES else each.offered_share,
        "kind": "gathers" if each in top(of) else "spread",
    }


def _legend(drawn: Sequence[Row]) -> Iterator[Key]:
    named = {
        "gathers": Place("gathers", PLACES["hidden"].colour, SQUARE),
        "spread": Place("spread", PLACES["meets"].colour, SQUARE),
    }
    for kind, says in (("gathers", "more misses than its part explains"), ("spread", "other")):
        if count := sum(row["kind"] == kind for row in drawn):
            yield Key(named[kind], says, format_count(count))
    if any(row["offered_share"] is not None for row in drawn):
        yield Key(_TICK, "line", "its part of all requests")


def _what(each: Contributor) -> str:
    return each.dimension.removeprefix("slo_")


def _contributor(of: ServiceWeek, each: Contributor) -> list[str]:
    own = each.dimension in OF_MISSES
    return [
        plain(of.service.name),
        _what(each),
        value(each),
        "-" if own else format_count(each.offered),
        "-" if own else format_share(each.offered_share),
        format_count(each.bad),
        format_share(each.bad_share),
        "-" if own else format_share(each.attainment),
    ]


def _contributor_data(of: ServiceWeek, each: Contributor) -> Row:
    return {
        "service": of.service.name,
        "dimension": each.dimension,
        "value": each.value,
        "offered": each.offered,
        "offered_share": each.offered_share,
        "bad": each.bad,
        "bad_share": each.bad_share,
    }


def worst(weekly: Weekly, scope: str) -> Section | None:
    """The requests that were furthest over a limit, by name; None if none was over one."""
    told = [(of, each) for of in weekly.services for each in of.worst]
    if not told:
        return None
    shown = [_worst(of, each) for of in weekly.services for each in of.worst[:WORST]]
    return Section(
        "worst_requests",
        "Worst requests",
        counted(len(told), "request"),
        scope,
        data=[_worst_data(*pair) for pair in told],
        table=Table(_WORST_COLUMNS, shown, _WORST_WORDS, tight=True),
        notes=["JSON and CSV hold more requests, and the trace of each."],
    )


_WORST_WORDS: Final = (
    "service", "request", "waited", "tenant", "model", "worker", "cause",
)  # fmt: skip


def _worst(of: ServiceWeek, each: WorstRequest) -> list[str]:
    tokens = (each.prompt_tokens, each.output_tokens)
    return [
        plain(of.service.name),
        log_text(each.request_id),
        f"{statistic_name(of.service, each.statistic)} {format_duration(each.value_ns)}",
        f"{each.ratio:.3g}",
        moment(each.began),
        log_text(each.tenant),
        log_text(each.model),
        log_text(each.worker),
        (each.cause or "-").replace("_", " "),
        " + ".join("?" if n is None else format_count(n) for n in tokens),
    ]


def _worst_data(of: ServiceWeek, each: WorstRequest) -> Row:
    return {
        "service": of.service.name,
        "trace": each.trace,
        "request_id": each.request_id,
        "began": each.began and each.began.isoformat(),
        "statistic": each.statistic,
        "value_ns": each.value_ns,
        "limit_ns": each.limit_ns,
        "missed": list(each.missed),
        "prompt_tokens": each.prompt_tokens,
        "output_tokens": each.output_tokens,
        "tenant": each.tenant,
        "model": each.model,
        "worker": each.worker,
        "cause": each.cause,
    }
