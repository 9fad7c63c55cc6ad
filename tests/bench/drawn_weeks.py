"""Weeks of one service, drawn from one law: what differs between two of them is chance.

Chance is not kind. Requests come in bursts that share their stalls; some hours are busier or slower
than others; each week, and each hour, asks for more or fewer long documents than the one before;
and, if asked for, incidents of an hour or so stall every second burst.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from tokengap.utc import HOUR_NS
from tokengap.weekly.calendar import HOURS
from tokengap.weekly.cells import Cells, Counts, Flags, Numbers

MS: Final = 10**6
LIMITS_NS: Final = {"ttft": 600 * MS, "tpot": 26 * MS, "worst_gap": 150 * MS}
REJECTED_SHARE: Final = 0.01
_BURST: Final = 3
"""Requests of a burst, on average; they begin within 2 s."""
_STALLED: Final = {False: 0.03, True: 0.5}
"""Share of the bursts that stall, outside an incident and in one."""


@dataclass(frozen=True)
class Drawn:
    """Requests of one week, an entry each; `gaps_ns` has those of all of them in a row.

    sent_ns: since the week began. A rejected request has lengths, times and gaps that never came.
    """

    sent_ns: Counts
    prompt_tokens: Counts
    output_tokens: Counts
    """2 or more."""
    rejected: Flags
    ttft_ns: Counts
    gaps_ns: Counts

    @property
    def starts(self) -> Counts:
        """Where in `gaps_ns` the gaps of each request begin."""
        ends: Counts = np.cumsum(self.output_tokens - 1)
        return ends - (self.output_tokens - 1)

    @property
    def values_ns(self) -> dict[str, Numbers]:
        """Each statistic of each request."""
        span_ns = np.add.reduceat(self.gaps_ns, self.starts)
        return {
            "ttft": self.ttft_ns.astype(float),
            "tpot": span_ns / (self.output_tokens - 1),
            "worst_gap": np.maximum.reduceat(self.gaps_ns, self.starts).astype(float),
        }


def draw(
    rng: np.random.Generator, requests: int, *, incidents: float = 0, slower: float = 1.0
) -> Drawn:
    """One week. incidents: in a week, on average; slower: of the longest gap of every request."""
    busy = _busy(rng)
    hour, burst, in_burst_ns = _arrivals(rng, requests, busy)
    share = 0.3 * np.exp(rng.normal(0, 0.1) + rng.normal(0, 0.2, HOURS))
    document = rng.random(requests) < share[hour]
    prompt = _lengths(rng, np.where(document, 4000, 300), 0.5)
    output = _lengths(rng, np.where(document, 150, 60), 0.6) + 2
    pace = np.exp(rng.normal(0, 0.03, HOURS)) * (1 + 0.05 * (busy - 1))
    wait_ms = (80 + 0.05 * prompt + 80 * np.exp(rng.normal(0, 0.6, requests))) * pace[hour]
    chance = np.exp(rng.normal(0, 0.3, output.sum() - requests))
    week = Drawn(
        sent_ns=hour * HOUR_NS + in_burst_ns,
        prompt_tokens=prompt,
        output_tokens=output,
        rejected=rng.random(requests) < REJECTED_SHARE,
        ttft_ns=(wait_ms * MS).astype(np.int64),
        gaps_ns=(20 * MS * np.repeat(pace[hour], output - 1) * chance).astype(np.int64),
    )
    _stall(rng, week, hour, burst, _bad_hours(rng, incidents))
    if slower != 1:
        _slow_down(week, slower)
    return week


def _busy(rng: np.random.Generator) -> Numbers:
    """How busy each hour is, 1 on average: by day more than by night, and not every day alike."""
    hours = np.arange(HOURS)
    by_day = 1 + 0.7 * np.sin((hours % 24 - 8) * np.pi / 12)
    weekend = np.where(hours // 24 > 4, 0.6, 1.0)
    busy = by_day * weekend * np.exp(rng.normal(0, 0.25, HOURS))
    return np.asarray(busy / busy.mean())


def _arrivals(
    rng: np.random.Generator, requests: int, busy: Numbers
) -> tuple[Counts, Counts, Counts]:
    """Hour, burst, and ns into the hour, of each request."""
    burst = np.repeat(np.arange(requests), rng.geometric(1 / _BURST, requests))[:requests]
    bursts = int(burst[-1]) + 1
    hours = rng.choice(HOURS, bursts, p=busy / busy.sum())
    begun_ns = rng.integers(0, HOUR_NS - 10 * 10**9, bursts)
    return hours[burst], burst, begun_ns[burst] + rng.integers(0, 2 * 10**9, requests)


def _lengths(rng: np.random.Generator, medians: Counts, spread: float) -> Counts:
    lengths: Counts = (medians * np.exp(rng.normal(0, spread, len(medians)))).astype(np.int64) + 1
    return lengths


def _bad_hours(rng: np.random.Generator, incidents: float) -> Flags:
    """Hours in which there is an incident."""
    bad = np.zeros(HOURS, bool)
    for start in rng.integers(0, HOURS, rng.poisson(incidents)):
        bad[start : start + 1 + int(rng.exponential(1))] = True
    return bad


def _stall(rng: np.random.Generator, week: Drawn, hour: Counts, burst: Counts, bad: Flags) -> None:
    """Let bursts stall: the gaps that are open at one instant all get longer by as much."""
    bursts = int(burst[-1]) + 1
    share = np.where(bad[hour], _STALLED[True], _STALLED[False])
    stalled = rng.random(bursts)[burst] < share
    after_ns = rng.integers(0, 4 * 10**9, bursts)
    for_ns = ((150 + rng.exponential(300, bursts)) * MS).astype(np.int64)
    begun_ns = np.full(bursts, np.iinfo(np.int64).max - 4 * 10**9)
    np.minimum.at(begun_ns, burst, week.sent_ns)
    instant_ns = (begun_ns + after_ns)[burst]
    starts = week.starts
    for request in np.flatnonzero(stalled):
        own = week.gaps_ns[starts[request] :][: week.output_tokens[request] - 1]
        first_ns = week.sent_ns[request] + week.ttft_ns[request]
        at = np.searchsorted(np.cumsum(own), instant_ns[request] - first_ns)
        if at < len(own):
            own[at] += for_ns[burst[request]]


def _slow_down(week: Drawn, slower: float) -> None:
    """Make the longest gap of each request longer by a share."""
    longest = np.maximum.reduceat(week.gaps_ns, week.starts)
    is_longest = week.gaps_ns == np.repeat(longest, week.output_tokens - 1)
    week.gaps_ns[is_longest] = (week.gaps_ns[is_longest] * slower).astype(np.int64)


def cells_of(before: Drawn, now: Drawn) -> dict[str, Cells]:
    """What the weeks are compared by, for each promise; `good` is on whole requests."""
    return {name: _cells(before, now, name) for name in (*LIMITS_NS, "good")}


def _cells(before: Drawn, now: Drawn, name: str) -> Cells:
    keys, columns = zip(*(_columns(week, name) for week in (before, now)), strict=True)
    side = np.repeat([0, 1], [len(key) for key in keys])
    placed = np.column_stack([side, np.concatenate(keys)])
    cells, at = np.unique(placed, axis=0, return_inverse=True)
    sums: list[Numbers] = [
        np.bincount(at.ravel(), column).astype(float) for column in np.concatenate(columns, axis=1)
    ]
    later, block, prompt, output, finished = cells.T
    return Cells(later > 0, block, prompt, output, finished > 0, *sums)


def _columns(week: Drawn, name: str) -> tuple[Counts, Numbers]:
    """Of each request: hour, bins of its lengths and whether it finished; and what is summed."""
    finished = ~week.rejected
    key = np.column_stack([
        week.sent_ns // HOUR_NS,
        np.floor(np.log2(week.prompt_tokens) * 4).astype(np.int64),
        np.where(finished, np.floor(np.log2(week.output_tokens) * 2).astype(np.int64), -1),
        finished,
    ])  # fmt: skip
    met = _met(week, name)
    valued = finished & (name != "good")
    value_ns = week.values_ns.get(name, np.ones(len(finished)))
    counted = np.clip(value_ns, 1000, 2 * LIMITS_NS.get(name, np.inf))
    logs = np.where(valued, np.log(counted), 0)
    return key, np.stack([np.ones(len(met)), met, valued, logs])


def _met(week: Drawn, name: str) -> Flags:
    """A request that was rejected missed everything."""
    values_ns = week.values_ns
    names = LIMITS_NS if name == "good" else (name,)
    kept = np.all([values_ns[each] <= LIMITS_NS[each] for each in names], axis=0)
    return np.asarray(kept & ~week.rejected)
