"""A request's passes in the words of `streams`: stages, workers, and what was handed over.

Held at its source until room is reserved and the fixed overhead has passed is `kv_bootstrap`; on
the link, `kv_transfer`; from then until its batch takes it, `decode_queue`; the step that follows,
`decode_first_step`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from tokengap.replay.outcome import Outcome
from tokengap.replay.record import Pass
from tokengap.replay.request import Request


@dataclass(frozen=True, slots=True)
class Stage:
    """A named interval at a worker, by its number."""

    name: str
    start_ms: float
    end_ms: float
    worker: int


@dataclass(frozen=True, slots=True)
class Handed:
    """What is known of a request's handoff; see `streams` of the schema."""

    last_prefill_token: int | None
    source: str | None
    prefiller: int
    decoder: int
    kv_bytes: int | None


def passes_of(outcome: Outcome, request: Request) -> list[Pass]:
    """All of them, in order."""
    return [*outcome.record.passes.get(request.index, ()), Pass.of(request)]


def stages_of(outcome: Outcome, passes: Sequence[Pass]) -> list[Stage]:
    """The stages that came to their end."""
    found = [stage for each in passes for stage in _stages(outcome, each)]
    return [stage for stage in found if not isnan(stage.start_ms + stage.end_ms)]


def _stages(outcome: Outcome, one: Pass) -> list[Stage]:
    stages = [
        Stage("queue", one.queued_ms, one.began_ms, one.prefiller),
        Stage("prefill", one.began_ms, one.held_ms, one.prefiller),
    ]
    if not isnan(one.moving_ms):
        stages += [
            Stage("kv_bootstrap", one.held_ms, one.moving_ms, one.prefiller),
            Stage("kv_transfer", one.moving_ms, one.arrived_ms, one.prefiller),
            Stage("decode_queue", one.arrived_ms, one.admitted_ms, one.decoder),
        ]
        ends = outcome.workers[one.decoder].batch.ends
        if not isnan(one.admitted_ms) and one.first_step < len(ends):
            step_ms = ends[one.first_step]
            stages.append(Stage("decode_first_step", one.admitted_ms, step_ms, one.decoder))
    return stages


def handed(outcome: Outcome, request: Request, passes: Sequence[Pass]) -> Handed:
    """The handoff is that of the first pass whose cache arrived.

    Every pass before it gave a token on the prefill side, unless first tokens are withheld. A
    request that one worker served alone has none, and one that left before is not known to have one
    unless it got a token.
    """
    prefiller = passes[0].prefiller
    decoder = next((one.decoder for one in reversed(passes) if one.decoder >= 0), -1)
    withheld = outcome.pools.transport.withheld
    for at, one in enumerate(passes):
        if not isnan(one.arrived_ms):
            k = 0 if withheld else at + 1
            return Handed(k, "log", prefiller, decoder, round(one.kv_bytes))
    is_alone = outcome.pools.prefill is None or passes[0].prefiller == passes[0].decoder
    if prefiller >= 0 and (is_alone or request.status == "completed"):
        return Handed(None, "none", prefiller, prefiller if decoder < 0 else decoder, None)
    tokens = request.output_tokens - request.left
    return Handed(tokens or None, "log" if tokens else None, prefiller, decoder, None)
