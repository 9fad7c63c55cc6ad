"""A sweep in words and tables, for a terminal and for the page."""

from collections.abc import Iterator
from typing import Final

from tokengap.replay.sweep import Capacity, Swept
from tokengap.replay.sweep.validate import Validation
from tokengap.report.document import Document
from tokengap.report.numbers import columns
from tokengap.report.replay.sweep import (
    SweepReport,
    assumed,
    capacity,
    cost_per_good,
    record,
    within,
)
from tokengap.report.words import NAMES
from tokengap.units import format_bytes, format_count, format_duration, format_share


def swept(report: SweepReport) -> Document:
    """The sweep as text and JSON."""
    return Document(record(report), _text(report))


def summary(report: SweepReport) -> str:
    """The recommendation in a sentence, or that the model cannot carry one."""
    found = report.recommendation
    said = f"{found.advice[0].upper()}{found.advice[1:]}: {found.why}."
    if report.is_extrapolated:
        return f"No recommendation, for the model was fitted on less load than this. {said}"
    return said


def flip_lines(report: SweepReport) -> Iterator[str]:
    """For each thing that was changed: where it flips, or how far it holds."""
    for knob in dict.fromkeys(flip.knob for flip in report.flips):
        own = [flip for flip in report.flips if flip.knob == knob]
        flipped = [f"{flip.advice} at {flip.setting}" for flip in own if flip.flips]
        holds = [flip.setting for flip in own if not flip.flips]
        kept = [f"holds at {', '.join(holds)}"] if holds else []
        yield f"{knob}: {'; '.join([*kept, *flipped])}"


def kept_columns(report: SweepReport) -> tuple[str, ...]:
    """Columns of `kept_rows`."""
    by = (NAMES[o.statistic] for o in report.case.objectives)
    within = (f"gaps ≤ {format_duration(limit)}" for limit in report.case.within_ns)
    return ("arm", "good", "over drawings", *by, *within, "goodput", "largest rate", "idle", "note")


def kept_rows(report: SweepReport) -> Iterator[tuple[str, ...]]:
    """The promises each arm keeps, best first."""
    for each in report.ranked:
        low, high = each.interval
        yield (
            each.arm.name,
            format_share(each.attainment),
            f"{format_share(low)} to {format_share(high)}",
            *(_maybe_share(each.attainment_of(o.statistic)) for o in report.case.objectives),
            *(_maybe_share(within(each, limit)) for limit in report.case.within_ns),
            _rate(each.mean(lambda trial: trial.goodput_per_s)),
            _largest(capacity(report, each.arm)),
            _maybe_share(each.mean(lambda trial: trial.spare_share)),
            ", ".join(_notes(each)),
        )


WAIT_COLUMNS: Final = (
    "arm", "TTFT p50", "p99", "average TPOT p50", "p99 ", "worst gap p50", "p99  ",
    "first gap p99", "worst later gap p99",
)  # fmt: skip
"""Names are told apart by spaces that nobody sees."""


def wait_rows(report: SweepReport) -> Iterator[tuple[str, ...]]:
    """How long users of each arm wait: completed requests, percentiles per request."""
    for each in report.ranked:
        both = (each.percentile_ns(m, p) for m in ("ttft", "tpot", "worst_gap") for p in (50, 99))
        gaps = (each.percentile_ns(m, 99) for m in ("first_gap", "worst_later_gap"))
        yield (each.arm.name, *map(_time, both), *map(_time, gaps))


def _notes(each: Swept) -> Iterator[str]:
    if not each.is_stable:
        where = f": {each.pressed} falls behind" if each.pressed else ""
        yield f"unstable{where}"
    if sent := each.mean(lambda trial: trial.transfer_bytes):
        yield f"moves {format_bytes(int(sent))}"
    cost = cost_per_good(each)
    if cost is not None:
        yield f"{cost:.3g} a good request"
    if lost := each.mean(lambda trial: trial.wasted["lost_streams"]):
        yield f"{format_count(round(lost))} streams lost"


def _time(ns: float | None) -> str:
    return "-" if ns is None else format_duration(ns)


def _rate(per_s: float | None) -> str:
    return "-" if per_s is None else f"{per_s:.3g}/s"


def _largest(found: Capacity) -> str:
    if found.rate_per_s is None:
        return "-"
    return f"{'>= ' if found.is_bound else ''}{found.rate_per_s:.3g}/s"


def _maybe_share(share: float | None) -> str:
    return "-" if share is None else format_share(share)


def validation_rows(validation: Validation) -> Iterator[tuple[str, ...]]:
    """Each number of the log beside the replay's."""
    for each in validation.numbers:
        is_share = each.name == "attainment"
        shown = format_share if is_share else format_duration
        error = f"{each.error_share:+.1%}".replace("%", " %" if not is_share else " points")
        noise = "-" if each.noise_share is None else f"{each.noise_share:.1%}".replace("%", " %")
        ok = "yes" if each.reproduced else "no"
        yield each.name, shown(each.logged), shown(each.replayed), error, noise, ok


VALIDATION_COLUMNS: Final = ("", "log", "replay", "error", "repeat", "reproduced")


def _headline(report: SweepReport) -> str:
    requests = format_count(len(report.case.workload))
    return (
        f"Arms of {report.matching.words}, {requests} requests at "
        f"{report.case.workload.rate_per_s:.3g}/s; largest rate with {format_share(report.target)} "
        "good"
    )


def _text(report: SweepReport) -> str:
    parts = []
    if report.validation is not None:
        rows = columns([VALIDATION_COLUMNS, *validation_rows(report.validation)])
        parts.append(f"The baseline as it was\n{rows}{report.validation.says}\n")
    parts += [
        f"{summary(report)}\n",
        f"{_headline(report)}\n{columns([kept_columns(report), *kept_rows(report)])}",
        f"How long users wait\n{columns([WAIT_COLUMNS, *wait_rows(report)])}",
    ]
    if report.flips:
        parts.append("Until it flips\n" + "".join(f"- {line}\n" for line in flip_lines(report)))
    parts.append("Assumed\n" + "".join(f"- {line}\n" for line in assumed(report)))
    return "\n".join(parts)
