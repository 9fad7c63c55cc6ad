"""A sweep as it is asked for: from a log to what was found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import duckdb

from tokengap.errors import UsageError
from tokengap.replay import Fault, Transport, Workload, replay
from tokengap.replay.load import Load
from tokengap.replay.sweep import Arm, Capacity, Case, Machine, Matching, arms, largest_rate, score
from tokengap.replay.sweep import sweep as run_sweep
from tokengap.replay.sweep.arms import BUDGETS, By, Choices, refuse_unequal
from tokengap.replay.sweep.flips import Flip, flips
from tokengap.replay.sweep.named import Ways, named_arm
from tokengap.replay.sweep.run import Progress, Swept, in_processes
from tokengap.replay.sweep.validate import Logged, Validation, validate
from tokengap.report.replay.fitted import Fitted
from tokengap.report.replay.logged import arrivals, logged
from tokengap.report.replay.sweep import SweepReport
from tokengap.slo import Objective

CAPACITY_DRAWINGS: Final = 2
Told = Callable[[str, int, int], None]
"""Told what is replayed, how many replays are done, and of how many."""


@dataclass(frozen=True)
class Study:
    """What is asked of a log; as the options of `replay sweep`, which say what each means."""

    machines: Sequence[Machine]
    by: By
    total: float
    transport: Transport
    layers: int | None
    """Of the model, where arms may send them one by one."""
    objectives: Sequence[Objective]
    tolerance: float = 0.0
    named: Sequence[str] = ()
    unequal: bool = False
    budgets: Sequence[int] = ()
    batches: Sequence[int] = ()
    load: Load = field(default_factory=Load)
    drawings: int = 20
    target: float = 0.9
    baseline: str | None = None
    fitted: Fitted | None = None
    """Where the one machine is fitted from logs."""
    repeated: Logged | None = None
    """Another run of the baseline: what differs between the two is noise."""
    faults: Sequence[Fault] = ()
    within_ns: Sequence[int] = ()
    quick: bool = False
    same_clock: bool = False
    progress: Told | None = None

    @property
    def seeds(self) -> range:
        """Of the drawings, the same for every arm."""
        return range(1, self.drawings + 1)

    @property
    def ways(self) -> Ways:
        """What named arms are made of."""
        return Ways(self.machines, self.transport, self.layers)

    @property
    def matching(self) -> Matching:
        """What arms have the same of."""
        return Matching(self.by, self.total, self.tolerance)

    def arms(self) -> list[Arm]:
        """The arms named, or else every one. UsageError for unequal ones that were not wanted."""
        if not self.named:
            choices = Choices(self.budgets or BUDGETS, self.batches or (None,), self.transport)
            return arms(self.machines, self.matching, choices)
        found = [named_arm(text, self.ways) for text in self.named]
        if not self.unequal:
            refuse_unequal(found, self.matching)
        return found

    def told(self, what: str) -> Progress | None:
        """The progress of one part."""
        return None if self.progress is None else partial(self.progress, what)


def study(con: duckdb.DuckDBPyConnection, wanted: Study, source: str) -> SweepReport:
    """Replay the log's arrivals on every arm; the connection has the query library bound."""
    log = arrivals(con, same_clock=wanted.same_clock)
    load = wanted.load.of(log)
    case = Case(load, wanted.objectives, wanted.faults, within_ns=wanted.within_ns)
    ways = wanted.arms()
    validation = None if wanted.baseline is None else _validated(con, wanted, log)
    found = run_sweep(ways, case, wanted.seeds, progress=wanted.told("arms"))
    return SweepReport(
        case=case,
        matching=wanted.matching,
        found=found,
        capacities=_capacities(wanted, case, found),
        target=wanted.target,
        flips=_flips(wanted, case, found),
        validation=validation,
        unequal=wanted.unequal,
        source=source,
        doubts=() if wanted.fitted is None else tuple(wanted.fitted.doubts(found)),
    )


def _validated(con: duckdb.DuckDBPyConnection, wanted: Study, log: Workload) -> Validation:
    """The log's own arrivals on the arm it is said to be from."""
    if wanted.baseline is None:
        raise UsageError("a validation needs the arm that the log is from")
    arm = named_arm(wanted.baseline, wanted.ways)
    outcome = replay(log, arm.pools, arm.models)
    judged = score(outcome, wanted.objectives)
    attainment = judged.good / judged.offered if judged.offered else None
    seen = logged(con, wanted.objectives)
    scatter = None if wanted.fitted is None else wanted.fitted.scatter
    return validate(seen, outcome, attainment, wanted.repeated, scatter)


def _capacities(wanted: Study, case: Case, found: Sequence[Swept]) -> dict[str, Capacity]:
    if wanted.quick or not _can_be_stretched(case):
        return {}
    seeds = list(wanted.seeds[:CAPACITY_DRAWINGS])
    tasks = [(each.arm, case, wanted.target, seeds) for each in found]
    rates = in_processes(largest_rate, tasks, progress=wanted.told("largest rates"))
    return {each.arm.name: rate for each, rate in zip(found, rates, strict=True)}


def _can_be_stretched(case: Case) -> bool:
    """Users of a closed loop set their own rate."""
    return bool(case.workload.rate_per_s) and not case.workload.users


def _flips(wanted: Study, case: Case, found: Sequence[Swept]) -> list[Flip]:
    if wanted.quick or not _can_be_stretched(case):
        return []
    return flips(found, case, wanted.seeds, progress=wanted.told("what flips it"))
