"""A machine fitted from logs: what `baseline` says that work costs, as a replay wants it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import duckdb

from tokengap.baseline import ServiceFit
from tokengap.errors import InputError
from tokengap.findings.baseline import service_of
from tokengap.replay import DecodeFit, PrefillFit, ServiceModel
from tokengap.replay.service import Mixed
from tokengap.replay.sweep import Machine, Swept
from tokengap.replay.workload import NS_PER_MS, Floats

NAME: Final = "fitted"


@dataclass(frozen=True)
class Fitted:
    """The machine, and how far it can be trusted."""

    machine: Machine
    service: ServiceFit

    def scatter(self, count: int) -> Floats:
        """Ratios of so many single gaps to their mean, as the logs scatter; always the same."""
        return self.service.jitter.sample(count, seed=0)

    def doubts(self, found: Sequence[Swept]) -> Iterator[str]:
        """What the fit does not know, and which arms go beyond what was seen."""
        for reason in self.service.unidentified:
            yield f"not identified: {reason}"
        for each in found:
            running = max(most_running(each), default=0.0)
            for reason in self.service.seen.extrapolated(running=running):
                yield f"{each.arm.name} is extrapolated: {reason}"


def most_running(each: Swept) -> Iterator[float]:
    """Requests at once at a worker that decodes, at the busiest look of each drawing."""
    _, workers = each.arm.sizes
    for trial in each.trials:
        yield max(trial.queues["decode"], default=0.0) / workers


def fitted(con: duckdb.DuckDBPyConnection, gpus: int, mixed: Mixed) -> Fitted:
    """Fit the workers of the logs that the connection is bound to; each takes so many GPUs.

    InputError if the logs do not tell what a prefill or a decode step costs.
    """
    service = service_of(con)
    if service.prefill is None or service.decode is None:
        part = "a prefill" if service.prefill is None else "a decode step"
        raise InputError(
            f"the logs do not tell what {part} costs: too few requests, or no times of tokens; "
            "give --fit LOG of another run, or --hardware FILE"
        )
    prefill, decode = service.prefill, service.decode
    model = ServiceModel(
        PrefillFit(*(ns / NS_PER_MS for ns in vars(prefill).values())),
        # Of a replay's step, tokens held count those that it adds: one for each request.
        DecodeFit(
            decode.fixed_ns / NS_PER_MS,
            decode.token_ns / NS_PER_MS,
            max(0.0, decode.request_ns - decode.token_ns) / NS_PER_MS,
        ),
        mixed=mixed,
    )
    return Fitted(Machine(NAME, model, gpus=gpus), service)
