"""Ways of dividing the same resources: workers that do both, and every split in two pools."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final, Literal

from tokengap.errors import UsageError
from tokengap.replay.config import Pool, Pools, Transport
from tokengap.replay.scheduler import Chunked, PrefillFirst, Scheduler
from tokengap.replay.service import ServiceModel

By = Literal["gpus", "cost", "power"]
Kind = Literal["colocated", "chunked", "split"]
_UNITS: Final = {"gpus": "GPUs", "cost": "per hour", "power": "W"}
_ROUNDING: Final = 1e-9
BUDGETS: Final = (256, 512, 2048)


@dataclass(frozen=True)
class Machine:
    """One kind of worker: what it takes, and how fast it is. `UsageError` for one of nothing."""

    name: str
    model: ServiceModel
    gpus: int = 1
    """Tensor-parallel ranks, for which the model was measured."""
    cost_per_hour: float | None = None
    """Of one worker, in any currency."""
    power_watts: float | None = None
    """Of one worker."""
    kv_capacity_tokens: int | None = None
    memory_bytes: int | None = None
    """Of one GPU."""

    def __post_init__(self) -> None:
        if self.gpus < 1:
            raise UsageError(f"{self.name}: a worker has 1 GPU or more")
        for name in ("cost_per_hour", "power_watts"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{self.name}: {name}={value}; give more than 0, or nothing")

    def takes(self, by: By) -> float:
        """What one worker takes. UsageError if it was not stated."""
        named = {"gpus": self.gpus, "cost": self.cost_per_hour, "power": self.power_watts}
        value = named[by]
        if value is None:
            raise UsageError(f"{self.name}: arms of equal {by} need the {by} of each machine")
        return float(value)

    def pool(self, workers: int, **options: object) -> Pool:
        """So many of it; further options as of `Pool`."""
        return Pool(
            workers,
            tp=self.gpus,
            hardware=self.name,
            kv_capacity_tokens=self.kv_capacity_tokens,
            memory_bytes=self.memory_bytes,
            **options,  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class Matching:
    """What all arms have the same of; a share of `tolerance` less is still the same."""

    by: By
    total: float
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not self.total > 0 or not 0 <= self.tolerance < 1:
            raise UsageError(f"{self.total:g} {_UNITS[self.by]} to divide: give more than 0")

    def fits(self, takes: float) -> bool:
        """Whether an arm uses what there is."""
        spare = self.total - takes
        rounding = _ROUNDING * self.total
        return -rounding <= spare <= self.tolerance * self.total + rounding

    @property
    def words(self) -> str:
        """Such as `4 GPUs`."""
        return f"{self.total:g} {_UNITS[self.by]}"


@dataclass(frozen=True)
class Arm:
    """One way."""

    name: str
    kind: Kind
    pools: Pools
    machines: tuple[Machine, ...]
    """Of the prefill pool and of the decode pool, or of the one pool."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Workers that prefill only, and all others."""
        prefill = self.pools.prefill
        return (prefill.workers if prefill else 0, self.pools.decode.workers)

    @property
    def models(self) -> dict[str, ServiceModel]:
        """Service models by hardware."""
        return {machine.name: machine.model for machine in self.machines}

    def takes(self, by: By) -> float:
        """What all its workers take."""
        workers = [size for size in self.sizes if size]
        each = (machine.takes(by) for machine in self.machines)
        return sum(size * takes for size, takes in zip(workers, each, strict=True))

    def over(self, transport: Transport) -> "Arm":
        """The same arm with another way between its pools."""
        return replace(self, pools=replace(self.pools, transport=transport))


def colocated(
    workers: int,
    machine: Machine,
    scheduler: Scheduler | None = None,
    *,
    max_running: int | None = None,
    named: bool = False,
) -> Arm:
    """Workers that prefill and decode. named: say which machines."""
    scheduler = scheduler or PrefillFirst()
    pool = machine.pool(workers, scheduler=scheduler, max_running=max_running)
    how = (
        f"chunked {scheduler.budget_tokens}" if isinstance(scheduler, Chunked) else "prefill-first"
    )
    of = f" {machine.name}" if named else ""
    name = f"{workers}{of} colocated, {how}{_batch(max_running)}"
    kind: Kind = "chunked" if scheduler.mixes else "colocated"
    return Arm(name, kind, Pools(pool), (machine,))


def split(
    prefill: tuple[int, Machine],
    decode: tuple[int, Machine],
    transport: Transport,
    *,
    max_running: int | None = None,
    named: bool = False,
) -> Arm:
    """Workers that prefill, and others that decode."""
    (senders, sender), (receivers, receiver) = prefill, decode
    pools = Pools(
        receiver.pool(receivers, max_running=max_running), sender.pool(senders), transport
    )
    of, to = (f" {sender.name}", f" {receiver.name}") if named else ("", "")
    name = f"{senders}P{of}+{receivers}D{to}{_batch(max_running)}"
    return Arm(name, "split", pools, (sender, receiver))


def _batch(max_running: int | None) -> str:
    return "" if max_running is None else f", batch {max_running}"


@dataclass(frozen=True)
class Choices:
    """What arms may differ in."""

    budgets: Sequence[int] = BUDGETS
    """Tokens of a step of chunked prefill."""
    batches: Sequence[int | None] = (None,)
    """Most requests that decode at once at a worker; None: no limit."""
    transport: Transport = field(default_factory=Transport)


def arms(machines: Sequence[Machine], matching: Matching, choices: Choices) -> list[Arm]:
    """Every arm that uses what there is to divide: colocated ones first, as they are now.

    UsageError if there is none, or only one.
    """
    found = [*_colocated(machines, matching, choices), *_split(machines, matching, choices)]
    if len(found) < 2:  # noqa: PLR2004 (a comparison has two sides)
        takes = ", ".join(f"{each.name} takes {each.takes(matching.by):g}" for each in machines)
        raise UsageError(
            f"{matching.words} cannot be divided: {takes}; "
            "give a multiple, or a tolerance in which unequal arms count as equal"
        )
    return found


def _colocated(machines: Sequence[Machine], matching: Matching, choices: Choices) -> Iterator[Arm]:
    schedulers: list[Scheduler] = [PrefillFirst(), *map(Chunked, choices.budgets)]
    named = len(machines) > 1
    for machine in machines:
        each = machine.takes(matching.by)
        workers = int(matching.total / each * (1 + _ROUNDING))
        if workers and matching.fits(workers * each):
            for scheduler, batch in product(schedulers, choices.batches):
                yield colocated(workers, machine, scheduler, max_running=batch, named=named)


def _split(machines: Sequence[Machine], matching: Matching, choices: Choices) -> Iterator[Arm]:
    named = len(machines) > 1
    for sender, receiver in product(machines, machines):
        sends, receives = sender.takes(matching.by), receiver.takes(matching.by)
        for senders in range(1, int(matching.total / sends * (1 + _ROUNDING)) + 1):
            left = matching.total - senders * sends
            receivers = int(left / receives * (1 + _ROUNDING) + _ROUNDING)
            if receivers and matching.fits(senders * sends + receivers * receives):
                pair = (senders, sender), (receivers, receiver)
                for batch in choices.batches:
                    yield split(*pair, choices.transport, max_running=batch, named=named)


def refuse_unequal(found: Sequence[Arm], matching: Matching) -> None:
    """UsageError that names an arm with more or less than the others."""
    for arm in found:
        takes = arm.takes(matching.by)
        if not matching.fits(takes):
            raise UsageError(
                f"{arm.name} takes {takes:g} of {matching.words}: unequal arms say nothing about "
                "separation; divide the same, or say that they are meant to be unequal"
            )
