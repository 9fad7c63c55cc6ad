"""Arms of equal resources side by side, `tokengap.replay/1`. Fields are only added to its JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from tokengap.findings.audit import Row
from tokengap.replay.sweep import Arm, Capacity, Matching, Recommendation, Swept, recommend
from tokengap.replay.sweep.flips import Flip
from tokengap.replay.sweep.recommend import ranked
from tokengap.replay.sweep.trial import Case
from tokengap.replay.sweep.validate import Validation
from tokengap.report.document import Document
from tokengap.report.numbers import columns
from tokengap.report.words import NAMES
from tokengap.units import format_bytes, format_count, format_duration, format_share

SCHEMA: Final = "tokengap.replay/1"
_S_PER_HOUR: Final = 3600
_GAPS: Final = ("ttft", "tpot", "worst_gap", "first_gap", "worst_later_gap")


@dataclass(frozen=True)
class SweepReport:
    """All that a sweep found.

    capacities: by arm name. unequal: arms differ in what they take, as the user wanted.
    """

    case: Case
    matching: Matching
    found: Sequence[Swept]
    capacities: Mapping[str, Capacity]
    target: float
    flips: Sequence[Flip]
    validation: Validation | None = None
    unequal: bool = False
    source: str = ""
    """What the arrivals are from."""
    doubts: Sequence[str] = ()
    """What the model does not know, and where arms go beyond what it was fitted on."""

    @cached_property
    def ranked(self) -> list[Swept]:
        """Best first."""
        return ranked(self.found)

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which arm to take."""
        return recommend(self.found)

    @property
    def is_extrapolated(self) -> bool:
        """The arm that would be recommended is beyond what its model was fitted on."""
        arm = self.recommendation.arm
        return arm is not None and any(line.startswith(f"{arm} is extrap") for line in self.doubts)

    @property
    def is_supported(self) -> bool:
        """The recommendation rests on what was seen, by a model that makes its own baseline."""
        validated = self.validation is None or self.validation.reproduced
        return validated and not self.is_extrapolated

    @property
    def drawings(self) -> int:
        """Resamplings of the arrivals."""
        return max(len(each.trials) for each in self.found)


def swept(report: SweepReport) -> Document:
    """The sweep as text and JSON."""
    return Document(_record(report), _text(report))


def _record(report: SweepReport) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "matched": {
            "by": report.matching.by,
            "total": report.matching.total,
            "tolerance_share": report.matching.tolerance,
            "unequal": report.unequal,
        },
        "workload": {
            "source": report.source,
            "requests": len(report.case.workload),
            "rate_per_s": report.case.workload.rate_per_s,
            "drawings": report.drawings,
        },
        "limits_ns": {o.statistic: o.limit_ns for o in report.case.objectives},
        "target_share": report.target,
        "arms": [_arm(report, each) for each in report.ranked],
        "rankings": rankings(report),
        "recommendation": asdict(report.recommendation)
        | {"advice": report.recommendation.advice, "supported": report.is_supported},
        "flips": [asdict(flip) for flip in report.flips],
        "validation": None if report.validation is None else _validation(report.validation),
        "assumptions": assumed(report),
    }


def _arm(report: SweepReport, each: Swept) -> Row:
    prefill, others = each.arm.sizes
    low, high = each.interval
    return {
        "name": each.arm.name,
        "kind": each.arm.kind,
        "prefill_workers": prefill,
        "decode_workers": others,
        "takes": each.arm.takes(report.matching.by),
        "offered": each.offered,
        "good": each.good,
        "attainment": each.attainment,
        "low": low,
        "high": high,
        "goodput_per_s": each.mean(lambda trial: trial.goodput_per_s),
        "objectives": [_objective(each, o.statistic) for o in report.case.objectives],
        "within": [
            {"limit_ns": limit, "attainment": _within(each, limit)}
            for limit in report.case.within_ns
        ],
        "hidden_stalls": sum(trial.score.hidden for trial in each.trials),
        "percentiles_ns": {
            measure: {f"p{p}": each.percentile_ns(measure, p) for p in (50, 90, 99)}
            for measure in _GAPS
        },
        "queue_growth": {
            pool: each.mean(lambda trial, pool=pool: trial.queue_growth_per_s[pool])  # type: ignore[misc]
            for pool in ("prefill", "decode")
        },
        "pressed": each.pressed,
        "wasted": {
            name: each.mean(lambda trial, name=name: trial.wasted[name])  # type: ignore[misc]
            for name in each.trials[0].wasted
        },
        "transfer_bytes": each.mean(lambda trial: trial.transfer_bytes),
        "spare_share": each.mean(lambda trial: trial.spare_share),
        "stable": each.is_stable,
        "max_rate_per_s": _capacity(report, each.arm).rate_per_s,
        "max_rate_is_bound": _capacity(report, each.arm).is_bound,
        "cost_per_good_request": cost_per_good(each),
    }


def _objective(each: Swept, statistic: str) -> Row:
    judged = [trial.score.objectives[statistic] for trial in each.trials]
    counts = {
        name: sum(getattr(verdicts, name) for verdicts in judged)
        for name in ("met", "missed", "not_applicable")
    }
    return {"statistic": statistic, **counts, "attainment": each.attainment_of(statistic)}


def _capacity(report: SweepReport, arm: Arm) -> Capacity:
    return report.capacities.get(arm.name, Capacity(None))


def cost_per_good(each: Swept) -> float | None:
    """Cost of all workers over the time of a good request; None if no cost is stated."""
    if any(machine.cost_per_hour is None for machine in each.arm.machines):
        return None
    goodput = each.mean(lambda trial: trial.goodput_per_s)
    return each.arm.takes("cost") / _S_PER_HOUR / goodput if goodput else None


def rankings(report: SweepReport) -> dict[str, list[str]]:
    """Arms by the share that meets each objective alone, best first: they need not agree."""
    return {
        objective.statistic: [
            each.arm.name
            for each in sorted(
                report.ranked, key=lambda each: -(each.attainment_of(objective.statistic) or 0.0)
            )
        ]
        for objective in report.case.objectives
    }


def _validation(validation: Validation) -> Row:
    return {
        "reproduced": validation.reproduced,
        "says": validation.says,
        "numbers": [asdict(each) for each in validation.numbers],
    }


def assumed(report: SweepReport) -> list[str]:
    """What the numbers take for granted."""
    mixed = sorted({machine.model.mixed for each in report.found for machine in each.arm.machines})
    lines = [
        f"{report.drawings} drawings of the arrivals' own intervals, the same for every arm",
        "steps take what the model says, without noise",
        f"the fixed cost of a step that prefills and decodes is the {' or '.join(mixed)} of both",
    ]
    lines += report.doubts
    if report.unequal:
        lines.append("ARMS ARE UNEQUAL: more resources alone may explain what is better")
    return lines


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
            *(_maybe_share(_within(each, limit)) for limit in report.case.within_ns),
            _rate(each.mean(lambda trial: trial.goodput_per_s)),
            _largest(_capacity(report, each.arm)),
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


def _within(each: Swept, limit_ns: int) -> float | None:
    return each.mean(lambda trial: trial.within[limit_ns])


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
