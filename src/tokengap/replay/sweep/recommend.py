"""Which arm to take, in words: the simplest that nothing beats beyond the noise of arrivals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.replay.sweep.arms import Kind
from tokengap.replay.sweep.run import Swept

SIMPLICITY: Final[dict[Kind, int]] = {"colocated": 0, "chunked": 1, "split": 2}
"""What is there, what is a setting, and what is to be built."""
ADVICE: Final[dict[Kind, str]] = {
    "colocated": "stay colocated",
    "chunked": "chunk first",
    "split": "separate",
}
_LOWEST: Final = 2.5  # percentile of the differences between drawings


@dataclass(frozen=True)
class Recommendation:
    """arm: its name; None if no arm keeps any promise. advice: of `ADVICE`. why: in a sentence."""

    arm: str | None
    kind: Kind | None
    why: str

    @property
    def advice(self) -> str:
        """What to do, in a few words."""
        return "no arm holds" if self.kind is None else ADVICE[self.kind]


def recommend(found: Sequence[Swept]) -> Recommendation:
    """The best arm, unless a simpler kind has one that it does not beat.

    One arm beats another if it keeps more promises in all but 2.5 % of the drawings, which are the
    same for both.
    """
    usable = [each for each in found if each.is_stable and each.good]
    if not usable:
        return Recommendation(None, None, "every arm is unstable, or has no good request")
    leaders = [_best([each for each in usable if each.arm.kind == kind]) for kind in SIMPLICITY]
    present = [each for each in leaders if each is not None]
    best = max(present, key=lambda each: each.attainment)
    chosen = next(each for each in present if each is best or not beats(best, each))
    return Recommendation(chosen.arm.name, chosen.arm.kind, _why(chosen, best, present))


def _best(found: Sequence[Swept]) -> Swept | None:
    """The most good requests, and of equal ones the one with the shortest slow gaps."""
    return min(found, key=_order, default=None)


def _order(each: Swept) -> tuple[float, float]:
    return -each.attainment, each.percentile_ns("worst_gap", 99) or 0.0


def ranked(found: Sequence[Swept]) -> list[Swept]:
    """Best first; unstable ones last."""
    return sorted(found, key=lambda each: (not each.is_stable, *_order(each)))


def beats(one: Swept, other: Swept) -> bool:
    """Whether one keeps more promises, drawing by drawing, beyond their noise."""
    pairs = zip(one.trials, other.trials, strict=False)
    differences = [mine.attainment - theirs.attainment for mine, theirs in pairs]
    return float(np.percentile(differences, _LOWEST)) > 0


def _why(chosen: Swept, best: Swept, leaders: Sequence[Swept]) -> str:
    said = f"{chosen.arm.name} keeps {_share(chosen)} of requests good"
    if chosen is not best:
        return (
            f"{said}; {best.arm.name}, {_share(best)}, is not better beyond the noise of arrivals"
        )
    others = [each for each in leaders if each is not chosen]
    beaten = [f"{each.arm.name} {_share(each)}" for each in others if beats(chosen, each)]
    equal = [each.arm.name for each in others if not beats(chosen, each)]
    parts = [said]
    if beaten:
        parts.append(f"more than {' and '.join(beaten)} in nearly all drawings of the arrivals")
    if equal:
        parts.append(f"as many as {' and '.join(equal)}, which is more to build")
    return ", ".join(parts) if others else f"{said}; no arm of another kind is stable"


def _share(each: Swept) -> str:
    low, high = each.interval
    return f"{each.attainment:.1%} ({low:.1%} to {high:.1%})".replace("%", " %")
