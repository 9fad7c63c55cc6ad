"""How many requests of an outcome kept their promises: the audit's rules, on exact values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tokengap.replay.outcome import Chunk, Outcome
from tokengap.replay.workload import NS_PER_MS, Floats, Ints
from tokengap.slo import Objective

Flags = npt.NDArray[np.bool_]
_OWN_GAPS: Final = {"gap_p50": 0.5, "gap_p90": 0.9, "gap_p99": 0.99}
_LOST: Final = ("failed", "timed_out", "rejected", "truncated")


@dataclass(frozen=True)
class Judged:
    """Verdicts of one objective over the offered requests."""

    met: int
    missed: int
    not_applicable: int


@dataclass(frozen=True)
class Score:
    """Counts of requests."""

    offered: int
    good: int
    hidden: int
    """Completed, with an average within its limit and a worst gap beyond; 0 without both limits."""
    objectives: Mapping[str, Judged]


def score(outcome: Outcome, objectives: Sequence[Objective]) -> Score:
    """Judge every request. Those in flight, or cancelled with nothing missed, are not offered."""
    statuses = np.array(outcome.statuses, dtype=object)
    completed, cancelled = outcome.completed, statuses == "cancelled"
    lost = np.isin(statuses, _LOST)
    values = {o.statistic: values_ns(outcome, o.statistic) for o in objectives}
    late = {o.statistic: _over(outcome, o, values[o.statistic]) for o in objectives}
    missing = {name: np.isnan(value) for name, value in values.items()}
    left = cancelled & _left_late(outcome, objectives, late)
    offered = completed | lost | left
    verdicts = {}
    fails = np.zeros(len(outcome), bool)
    for name, over in late.items():
        missed = offered & (over | (missing[name] & ~completed))
        fails |= missed
        absent = offered & missing[name] & ~missed
        met = int((offered & ~missed & ~absent).sum())
        verdicts[name] = Judged(met, int(missed.sum()), int(absent.sum()))
    good = completed & ~fails & (outcome.tokens > 0)
    return Score(int(offered.sum()), int(good.sum()), _hidden(completed, late, missing), verdicts)


def _hidden(completed: Flags, late: Mapping[str, Flags], missing: Mapping[str, Flags]) -> int:
    if not {"tpot", "worst_gap"} <= late.keys():
        return 0
    met = completed & ~late["tpot"] & ~missing["tpot"]
    return int((met & late["worst_gap"]).sum())


def values_ns(outcome: Outcome, statistic: str) -> Floats:
    """One value per request; NaN where there is none, or where nothing was handed over."""
    latency = outcome.latency
    if statistic in _OWN_GAPS:
        return _own_percentile(outcome, _OWN_GAPS[statistic])
    if statistic == "e2e":
        return _last_token_ns(outcome) - outcome.arrival_ns
    if statistic == "handoff_gap":
        emits = not outcome.pools.transport.withheld
        moved = ~np.isnan(outcome.times_ms("moving_ms"))
        return np.where(moved & emits, latency.first_gap_ns, np.nan)
    values: Floats = getattr(latency, f"{statistic}_ns")
    return values


def _over(outcome: Outcome, objective: Objective, values: Floats) -> Flags:
    """Whose value is beyond its limit; the average in whole ns, as the audit compares it."""
    limit_ns = objective.limit_ns
    if objective.statistic != "tpot":
        return values > limit_ns
    return _after_first_ns(outcome) > limit_ns * _gaps(outcome)


def _left_late(
    outcome: Outcome, objectives: Sequence[Objective], late: Mapping[str, Flags]
) -> Flags:
    """Clients that left after a limit had passed: by a value, or by what they waited in vain."""
    found = np.zeros(len(outcome), bool)
    for over in late.values():
        found |= over
    limits = {objective.statistic: objective.limit_ns for objective in objectives}
    ended_ns = np.rint(outcome.times_ms("ended_ms") * NS_PER_MS)
    none_came = outcome.tokens == 0
    if "ttft" in limits:
        found |= none_came & (ended_ns - outcome.arrival_ns > limits["ttft"])
    waited_ns = ended_ns - _last_token_ns(outcome)
    if "worst_gap" in limits:
        found |= ~none_came & (waited_ns > limits["worst_gap"])
    if "handoff_gap" in limits:
        found |= _handed_over(outcome) & (outcome.tokens == 1) & (waited_ns > limits["handoff_gap"])
    return found


def _handed_over(outcome: Outcome) -> Flags:
    """Whose first token leaves the prefill pool, and whose second one comes from another worker."""
    pools, load = outcome.pools, outcome.workload
    if pools.prefill is None or pools.transport.withheld:
        return np.zeros(len(outcome), bool)
    indexes = [request.index for request in outcome.requests]
    stays = load.prompt_tokens[indexes] < pools.transport.stay_below_tokens
    return ~stays & (load.output_tokens[indexes] > 1)


def _last_token_ns(outcome: Outcome) -> Floats:
    last: Floats = outcome.arrival_ns + outcome.latency.ttft_ns + _after_first_ns(outcome)
    return last


def _after_first_ns(outcome: Outcome) -> Floats:
    """From the first token to the last, in whole ns; 0 without a second one."""
    taken: Floats = np.rint(np.nan_to_num(outcome.latency.tpot_ns) * _gaps(outcome))
    return taken


def _gaps(outcome: Outcome) -> Ints:
    gaps: Ints = np.maximum(outcome.tokens - 1, 0)
    return gaps


def _own_percentile(outcome: Outcome, share: float) -> Floats:
    parts = [_percentiles(chunk, share) for chunk in outcome.chunks()]
    return np.concatenate(parts) if parts else np.zeros(0)


def _percentiles(chunk: Chunk, share: float) -> Floats:
    """Of each request's own gaps, by linear interpolation at share * (n - 1)."""
    counts: Ints = np.diff(chunk.offsets)
    owners = np.repeat(np.arange(len(counts)), counts)
    ordered = chunk.gaps_ns[np.lexsort((chunk.gaps_ns, owners))]
    values = np.full(len(counts), np.nan)
    some = counts > 0
    place = chunk.offsets[:-1][some] + share * (counts[some] - 1)
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, chunk.offsets[1:][some] - 1)
    values[some] = ordered[low] + (place - low) * (ordered[high] - ordered[low])
    return values
