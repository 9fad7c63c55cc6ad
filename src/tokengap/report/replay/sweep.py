"""Arms of equal resources side by side, `tokengap.replay/1`. Fields are only added to its JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from tokengap.findings.audit import Row
from tokengap.replay.sweep import Arm, Capacity, Matching, Recommendation, Swept, recommend
from tokengap.replay.sweep.flips import Flip
from tokengap.replay.sweep.recommend import ranked
from tokengap.replay.sweep.trial import Case
from tokengap.replay.sweep.validate import Validation

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


def record(report: SweepReport) -> dict[str, Any]:
    """Fields of the JSON."""
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
            {"limit_ns": limit, "attainment": within(each, limit)}
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
        "max_rate_per_s": capacity(report, each.arm).rate_per_s,
        "max_rate_is_bound": capacity(report, each.arm).is_bound,
        "cost_per_good_request": cost_per_good(each),
    }


def _objective(each: Swept, statistic: str) -> Row:
    judged = [trial.score.objectives[statistic] for trial in each.trials]
    counts = {
        name: sum(getattr(verdicts, name) for verdicts in judged)
        for name in ("met", "missed", "not_applicable")
    }
    return {"statistic": statistic, **counts, "attainment": each.attainment_of(statistic)}


def capacity(report: SweepReport, arm: Arm) -> Capacity:
    """The arm's largest rate; of none if it was not looked for."""
    return report.capacities.get(arm.name, Capacity(None))


def within(each: Swept, limit_ns: int) -> float | None:
    """Share of offered requests whose worst gap is within a limit, over the drawings."""
    return each.mean(lambda trial: trial.within[limit_ns])


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
