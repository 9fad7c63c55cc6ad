"""How gaps answer to the prompt tokens computed beside them, and what of their excess is theirs.

A gap is long where it lasts more than two of its stream's own steps; what it lasts beyond one is
its excess. Of that, prefills overlap some by chance: a worker that prefills a share f of the time
overlaps that share of any excess. Explained is what they overlap beyond chance, (o - f) / (1 - f)
for an overlapped share o: 1 if prefills cover all excess, 0 if no more of it than of any time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.baseline.chance import RESAMPLES, Counts, Estimate, Numbers, estimate, resampled

SUMMED: Final = (
    "gaps", "gap_ns", "step_ns", "dose_tokens", "prefill_ns", "excess_ns", "explained_ns",
)  # fmt: skip
"""What is summed of each worker, block of time and dose: columns of `interference_blocks`."""
_ALWAYS: Final = 0.98  # beyond this share of the time, there is nothing to compare with


@dataclass(frozen=True)
class Blocks:
    """Gaps by worker, block of time and dose.

    steps: the doses, ascending, the first 0: no prefill. sums: shape (clusters, doses, summed), a
    cluster being one block of time of one worker.
    """

    steps: tuple[int, ...]
    sums: Numbers


@dataclass(frozen=True)
class Dose:
    """Gaps of about the same dose.

    gap_ns: their mean length. beyond_ns: by how much that exceeds the mean of their streams' own
    steps. blocks: blocks of time, each of one worker, that they are from.
    """

    dose_step: int
    dose_tokens: float
    gaps: int
    blocks: int
    gap_ns: Estimate
    beyond_ns: Estimate


@dataclass(frozen=True)
class Effect:
    """What prefills of other requests do to gaps.

    exposed_gaps: those with at least one token of dose. calm_gap_ns, exposed_gap_ns: mean length
    without and with. added_ns_per_token: what exposed gaps last beyond their steps, less what calm
    ones do, per token of dose. prefill_share, excess_share: of the time of all gaps, that a prefill
    ran, and that was excess. explained_share: of the excess, as above.
    """

    gaps: int
    exposed_gaps: int
    exposed_blocks: int
    calm_gap_ns: Estimate
    exposed_gap_ns: Estimate
    added_ns_per_token: Estimate
    prefill_share: float | None
    excess_share: float | None
    explained_share: Estimate

    @property
    def is_measured(self) -> bool:
        """Gaps beside prefills are longer, and not by chance."""
        low = self.added_ns_per_token.low
        return low is not None and low > 0


def blocks_of(columns: Mapping[str, Numbers], cluster: Counts, dose_step: Counts) -> Blocks:
    """Rows of `interference_blocks` as sums; cluster: a number for each worker and block."""
    steps = np.union1d(dose_step, [0])
    sums = np.zeros((int(cluster.max(initial=-1)) + 1, len(steps), len(SUMMED)))
    where = (cluster, np.searchsorted(steps, dose_step))
    for at, name in enumerate(SUMMED):
        np.add.at(sums[:, :, at], where, columns[name])
    return Blocks(tuple(int(step) for step in steps), sums)


def respond(blocks: Blocks, seed: int = 0) -> tuple[list[Dose], Effect]:
    """The response at each dose, and the effect over all; intervals by resampled blocks of time."""
    seen = blocks.sums.sum(axis=0)
    flat = blocks.sums.reshape(len(blocks.sums), seen.size)
    draws = resampled(len(flat), RESAMPLES, seed) if len(flat) else ()
    drawn = np.array([draw @ flat for draw in draws]).reshape(-1, *seen.shape)
    present = (blocks.sums[:, :, _GAPS] > 0).sum(axis=0)
    doses = [
        _dose(step, int(present[at]), seen[at], drawn[:, at])
        for at, step in enumerate(blocks.steps)
        if present[at]
    ]
    exposed_blocks = int((blocks.sums[:, 1:, _GAPS].sum(axis=1) > 0).sum())
    return doses, _effect(exposed_blocks, seen, drawn)


_GAPS, _GAP, _STEP, _DOSE, _PREFILL, _EXCESS, _EXPLAINED = range(len(SUMMED))


def _dose(step: int, blocks: int, seen: Numbers, drawn: Numbers) -> Dose:
    return Dose(
        dose_step=step,
        dose_tokens=float(seen[_DOSE] / seen[_GAPS]),
        gaps=int(seen[_GAPS]),
        blocks=blocks,
        gap_ns=_estimated(_mean_gap, seen, drawn),
        beyond_ns=_estimated(_beyond, seen, drawn),
    )


def _effect(exposed_blocks: int, seen: Numbers, drawn: Numbers) -> Effect:
    whole, exposed = seen.sum(axis=0), seen[1:].sum(axis=0)
    time_ns = float(whole[_GAP])
    return Effect(
        gaps=int(whole[_GAPS]),
        exposed_gaps=int(exposed[_GAPS]),
        exposed_blocks=exposed_blocks,
        calm_gap_ns=_estimated(_mean_gap, seen[0], drawn[:, 0]),
        exposed_gap_ns=_estimated(_mean_gap, exposed, drawn[:, 1:].sum(axis=1)),
        added_ns_per_token=_estimated(_added, seen, drawn),
        prefill_share=float(whole[_PREFILL]) / time_ns if time_ns else None,
        excess_share=float(whole[_EXCESS]) / time_ns if time_ns else None,
        explained_share=_estimated(_explained, seen, drawn),
    )


def _estimated(ratio: Callable[[Numbers], Numbers], seen: Numbers, drawn: Numbers) -> Estimate:
    return estimate(float(ratio(seen)), ratio(drawn))


def _over(numerator: Numbers, denominator: Numbers) -> Numbers:
    """The quotient; NaN where nothing is divided by."""
    known = denominator > 0
    return np.where(known, numerator / np.where(known, denominator, 1), np.nan)


def _mean_gap(sums: Numbers) -> Numbers:
    return _over(sums[..., _GAP], sums[..., _GAPS])


def _beyond(sums: Numbers) -> Numbers:
    return _over(sums[..., _GAP] - sums[..., _STEP], sums[..., _GAPS])


def _added(sums: Numbers) -> Numbers:
    calm, exposed = sums[..., 0, :], sums[..., 1:, :].sum(axis=-2)
    more = _beyond(exposed) - np.nan_to_num(_beyond(calm))
    return _over(more * exposed[..., _GAPS], exposed[..., _DOSE])


def _explained(sums: Numbers) -> Numbers:
    whole = sums.sum(axis=-2)
    chance = _over(whole[..., _PREFILL], whole[..., _GAP])
    overlapped = _over(whole[..., _EXPLAINED], whole[..., _EXCESS])
    return np.where(chance < _ALWAYS, np.maximum(_over(overlapped - chance, 1 - chance), 0), np.nan)
