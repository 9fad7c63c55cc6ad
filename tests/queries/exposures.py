"""What each gap had beside it on its worker, by looking at every prefill and stream in turn."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log2
from statistics import median

from tests.queries.given import Row

SAME_STEP_NS = 2_000_000
BURST_NS = 200_000


@dataclass(frozen=True)
class Gap:
    """One gap, and what was beside it."""

    request_id: str
    worker: str
    start_ns: int
    end_ns: int
    step_ns: float
    dose_tokens: float
    prefill_ns: int
    running: int
    held_tokens: float

    @property
    def gap_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def dose_step(self) -> int:
        return 0 if self.dose_tokens < 1 else 1 + floor(log2(self.dose_tokens))


@dataclass(frozen=True)
class Work:
    """One prefill, after the wait for the one before it."""

    worker: str
    tokens: int
    start_ns: int
    end_ns: int


def work(prefills: Sequence[Row]) -> list[Work]:
    """Rows of the query `prefills`; an inferred one starts after the one before."""
    found = []
    for row in prefills:
        before = [
            other["end_ns"]
            for other in prefills
            if other["worker"] == row["worker"] and other["end_ns"] <= row["end_ns"] - SAME_STEP_NS
        ]
        start = row["start_ns"]
        if row["basis"] == "inferred":
            start = max([start, *before])
        found.append(Work(row["worker"], row["prompt_tokens"], start, row["end_ns"]))
    return found


def exposed(streams: Sequence[Row], prefills: Sequence[Row]) -> list[Gap]:
    """Every gap of completed streams; streams are engine rows with a decode worker."""
    done = work(prefills)
    found = []
    for row in streams:
        if row["status"] != "completed":
            continue
        end = row["first_token_ns"]
        for gap in row["gaps_ns"]:
            start, end = end, end + gap
            beside = [each for each in done if each.worker == row["decode_worker"]]
            found.append(
                Gap(
                    row["request_id"],
                    row["decode_worker"],
                    start,
                    end,
                    steady_step(row["gaps_ns"]),
                    sum(dose(each, start, end) for each in beside),
                    covered(beside, start, end),
                    *load(streams, row["decode_worker"], start),
                )
            )
    return found


def dose(done: Work, start: int, end: int) -> float:
    lasts = done.end_ns - done.start_ns
    if lasts == 0:
        return done.tokens if start < done.end_ns <= end else 0
    return done.tokens * max(0, min(end, done.end_ns) - max(start, done.start_ns)) / lasts


def covered(done: Sequence[Work], start: int, end: int) -> int:
    """Time of the gap that any of them ran: between neighbouring instants, all or nothing."""
    instants = {start, end} | {t for each in done for t in (each.start_ns, each.end_ns)}
    inside = sorted(t for t in instants if start <= t <= end)
    return sum(
        after - before
        for before, after in pairwise(inside)
        if any(each.start_ns <= before and after <= each.end_ns for each in done)
    )


def load(streams: Sequence[Row], worker: str, at: int) -> tuple[int, float]:
    """Streams between their first and last token, and the tokens that they hold then."""
    running, held = 0, 0.0
    for row in streams:
        first = row["first_token_ns"]
        last = first + sum(row["gaps_ns"])
        if row["decode_worker"] == worker and first <= at < last:
            running += 1
            held += (row["prompt_tokens"] or 0) + 1
            held += (row["output_tokens"] - 1) * (at - first) / (last - first)
    return running, held


def steady_step(gaps: Sequence[int]) -> float:
    steps = [gap for gap in gaps if gap >= BURST_NS]
    return float(median(steps)) if 10 * len(steps) >= len(gaps) else sum(gaps) / len(gaps)


def by_dose(gaps: Sequence[Gap]) -> Counter[int]:
    return Counter(gap.dose_step for gap in gaps)
