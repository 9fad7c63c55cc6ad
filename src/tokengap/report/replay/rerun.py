"""One replay as streams: kept in a store, or audited as a log is."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tokengap import __version__
from tokengap.replay import Outcome, Pools, Workload, replay
from tokengap.replay.faults import Fault
from tokengap.replay.streams import streams
from tokengap.replay.sweep import Arm
from tokengap.store.made import made
from tokengap.store.records import Loaded, Provenance
from tokengap.store.tables import prepare_store

ADAPTER: Final = "replay"
VERSION: Final = 1


@dataclass(frozen=True)
class Clients:
    """What clients and workers put up with; see `replay.Pools` and `replay.Pool`."""

    deadline_ms: float | None = None
    first_token_deadline_ms: float | None = None
    max_queue: int | None = None
    on_loss: str = "reprefill"

    def pools(self, pools: Pools) -> Pools:
        """The pools with these bounds."""
        prefill = pools.prefill
        bounded = {
            "decode": replace(pools.decode, max_queue=self.max_queue),
            "prefill": None if prefill is None else replace(prefill, max_queue=self.max_queue),
        }
        kept: dict[str, Any] = vars(self) | bounded
        del kept["max_queue"]
        return replace(pools, **kept)


@dataclass(frozen=True)
class Rerun:
    """A load on an arm, and what it is called in the store."""

    trace: str
    arm: Arm
    pools: Pools
    load: Workload
    faults: tuple[Fault, ...]
    seed: int

    def outcome(self) -> Outcome:
        """Replay it, to the end even if a queue grows."""
        return replay(
            self.load,
            self.pools,
            self.arm.models,
            faults=self.faults,
            seed=self.seed,
            to_the_end=True,
        )

    @property
    def provenance(self) -> Provenance:
        """All that the rows depend on: they are worked out again alike from it."""
        columns = (self.load.arrival_ms, self.load.prompt_tokens, self.load.output_tokens)
        digest = hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()
        options = {
            "trace": self.trace,
            "tokengap": __version__,
            "arm": self.arm.name,
            "pools": repr(self.pools),
            "models": repr(self.arm.models),
            "faults": repr(self.faults),
            "load": digest,
            "users": str(self.load.users),
            "leave": _digest(self.load.leave_after_ms),
            "seed": str(self.seed),
        }
        return Provenance(ADAPTER, VERSION, (), options)


def _digest(column: Any) -> str:
    return "" if column is None else hashlib.sha256(column.tobytes()).hexdigest()


def rows_of(rerun: Rerun, outcome: Outcome, scratch: Path, *, by_day: bool) -> Loaded:
    """The outcome's streams as parts in `scratch`."""
    return made(streams(outcome, rerun.trace), rerun.provenance, scratch, by_day=by_day)


def keep(rows: Loaded, store: str, scratch: Path) -> bool:
    """Commit the rows to a store; False if the same replay is there already."""
    (standing,) = prepare_store(store).commit([rows], scratch)
    return standing.already is None
