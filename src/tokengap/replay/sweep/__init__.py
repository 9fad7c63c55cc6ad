"""Every way of dividing the same resources, on the same arrivals, judged by the same promises."""

from tokengap.replay.sweep.arms import Arm, Machine, Matching, arms, colocated, split
from tokengap.replay.sweep.capacity import Capacity, largest_rate
from tokengap.replay.sweep.recommend import Recommendation, recommend
from tokengap.replay.sweep.run import Swept, sweep
from tokengap.replay.sweep.score import Score, score
from tokengap.replay.sweep.trial import Case, Trial, trial

__all__ = [
    "Arm",
    "Capacity",
    "Case",
    "Machine",
    "Matching",
    "Recommendation",
    "Score",
    "Swept",
    "Trial",
    "arms",
    "colocated",
    "largest_rate",
    "recommend",
    "score",
    "split",
    "sweep",
    "trial",
]
