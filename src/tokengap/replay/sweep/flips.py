"""How far a recommendation is from another one: what has to change until it flips.

Only the leaders of each kind are replayed again, on fewer drawings of the first requests: a leader
that another arm of its kind would overtake is not seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tokengap.replay.config import Transport
from tokengap.replay.service import Mixed
from tokengap.replay.sweep.arms import Arm
from tokengap.replay.sweep.recommend import Recommendation, recommend
from tokengap.replay.sweep.run import Progress, Swept, in_processes
from tokengap.replay.sweep.trial import Case, whole_trial
from tokengap.replay.workload import Workload

FACTORS: Final = (0.125, 0.25, 0.5, 2.0, 4.0, 8.0)
DRAWINGS: Final = 5
MOST_REQUESTS: Final = 1_000
_GAPS: Final = ("tpot", "worst_gap")
_OVERHEADS_MS: Final = (1.0, 5.0, 20.0, 100.0)

Change = Callable[[Arm, Case], tuple[Arm, Case]]


@dataclass(frozen=True)
class Flip:
    """One thing that was changed, and what was recommended then.

    knob: what. setting: by how much, in words. advice: of the recommendation then; arm: its name.
    """

    knob: str
    setting: str
    arm: str | None
    advice: str
    flips: bool


def flips(
    found: Sequence[Swept],
    case: Case,
    seeds: Sequence[int],
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Flip]:
    """Every change of one thing, and what it would make of the recommendation."""
    leaders = _leaders(found)
    case = replace(case, workload=case.workload.first(MOST_REQUESTS))
    few = list(seeds[:DRAWINGS])
    changes = _changes(leaders, case)
    tasks = [
        (*change(arm, case), seed) for _, _, change in changes for arm in leaders for seed in few
    ]
    trials = iter(in_processes(whole_trial, tasks, workers, progress))
    now = recommend([each for each in found if each.arm in leaders])
    made = []
    for knob, setting, _ in changes:
        then = recommend([Swept(arm, [next(trials) for _ in few]) for arm in leaders])
        made.append(_flip(knob, setting, now, then))
    return made


def _flip(knob: str, setting: str, now: Recommendation, then: Recommendation) -> Flip:
    return Flip(knob, setting, then.arm, then.advice, then.kind != now.kind)


def _leaders(found: Sequence[Swept]) -> list[Arm]:
    """The best arm of each kind, stable or not."""
    best: dict[str, Swept] = {}
    for each in found:
        other = best.get(each.arm.kind)
        if other is None or each.attainment > other.attainment:
            best[each.arm.kind] = each
    return [each.arm for each in best.values()]


def _changes(leaders: Sequence[Arm], case: Case) -> list[tuple[str, str, Change]]:
    changes: list[tuple[str, str, Change]] = []
    for factor in FACTORS:
        words = f"x{factor:g}"
        changes += [
            ("load", words, _load(factor)),
            ("prompt lengths", words, _lengths(prompt=factor)),
            ("answer lengths", words, _lengths(answer=factor)),
        ]
        if any(arm.pools.transport.bandwidth_bytes_per_s for arm in leaders):
            changes.append(("bandwidth", words, _bandwidth(factor)))
    if any(arm.kind == "split" for arm in leaders):
        changes += [("overhead", f"{ms:g} ms", _overhead(ms)) for ms in _OVERHEADS_MS]
    if any(arm.kind == "chunked" for arm in leaders):
        changes += [("mixed steps", mixed, _mixed(mixed)) for mixed in ("max", "sum")]
    if any(objective.statistic in _GAPS for objective in case.objectives):
        changes += [("statistic", statistic, _statistic(statistic)) for statistic in _GAPS]
    return changes


def _load(factor: float) -> Change:
    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        faster = case.workload.at_rate(case.workload.rate_per_s * factor)
        return arm, replace(case, workload=faster)

    return change


def _lengths(prompt: float = 1.0, answer: float = 1.0) -> Change:
    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        workload: Workload = replace(
            case.workload,
            prompt_tokens=_times(case.workload.prompt_tokens, prompt),
            output_tokens=_times(case.workload.output_tokens, answer),
        )
        return arm, replace(case, workload=workload)

    return change


def _times(tokens: np.ndarray, factor: float) -> np.ndarray:
    return np.maximum(1, np.rint(tokens * factor)).astype(np.int64)


def _over(arm: Arm, changed: Mapping[str, float]) -> Arm:
    transport: Transport = replace(arm.pools.transport, **changed)  # type: ignore[arg-type]
    return arm.over(transport)


def _bandwidth(factor: float) -> Change:
    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        rate = arm.pools.transport.bandwidth_bytes_per_s
        return (arm if rate is None else _over(arm, {"bandwidth_bytes_per_s": rate * factor})), case

    return change


def _overhead(overhead_ms: float) -> Change:
    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        return _over(arm, {"overhead_ms": overhead_ms}), case

    return change


def _mixed(mixed: Mixed) -> Change:
    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        machines = tuple(
            replace(machine, model=replace(machine.model, mixed=mixed)) for machine in arm.machines
        )
        return replace(arm, machines=machines), case

    return change


def _statistic(statistic: str) -> Change:
    """Judge the gaps by one statistic alone: at its own limit, else at that of the other one."""

    def change(arm: Arm, case: Case) -> tuple[Arm, Case]:
        others = [o for o in case.objectives if o.statistic not in _GAPS]
        gaps = {o.statistic: o for o in case.objectives if o.statistic in _GAPS}
        one = gaps.get(statistic, next(iter(gaps.values())))
        return arm, replace(case, objectives=[*others, replace(one, statistic=statistic)])

    return change
