"""How often the weekly report calls chance a regression, and how often it sees a real one.

    python -m tests.bench.alarms [--requests 5000] [--pairs 200] [--slowed 100] [--stored 2]

False alarms: pairs of weeks drawn from one law, in which any promise is called worse; at most 18 of
200 may be. Power: pairs in whose later week the longest gap of every request is 10 % longer, in
which the promise on it is called worse; at least 90 of 100 should be, without incidents. Weeks with
incidents differ by far more than that; they are shown beside the others. A few pairs go all the
way, from logs through a store into the report, which must say the same.
"""

import argparse
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.bench.drawn_weeks import LIMITS_NS, Drawn, cells_of, draw
from tests.weekly.generated import Answer, Request
from tests.weekly.stored import load_each_night, write_logs
from tokengap.findings.weekly import weekly
from tokengap.library import read_catalogue
from tokengap.slo.model import GOOD, Goal, Service, SloFile
from tokengap.store.tables import open_store
from tokengap.weekly.calendar import Week, parse_week
from tokengap.weekly.compare import compare, least_change, tests_of
from tokengap.weekly.model import BETTER, WORSE, Change

WEEK: Final = parse_week("2026-W48")
TARGETS: Final = dict.fromkeys(LIMITS_NS, Decimal("0.95")) | {GOOD: Decimal("0.9")}
SLO: Final = SloFile(
    (
        Service(
            "drawn",
            tuple(
                Goal(name, LIMITS_NS.get(name), target, WEEK.back(52).first)
                for name, target in TARGETS.items()
            ),
        ),
    )
)
SLOWER: Final = 1.1
INCIDENTS: Final = 4
MOST_FALSE_SHARE: Final = 18 / 200
LEAST_CAUGHT_SHARE: Final = 90 / 100
ANY: Final = "any"

Counts = Counter[tuple[str, str]]
"""How often each promise got each verdict."""


def pair(seed: int, requests: int, *, incidents: float, slower: float) -> tuple[Drawn, Drawn]:
    """Two weeks; slower: of the later one."""
    rng = np.random.default_rng(seed)
    before = draw(rng, requests, incidents=incidents)
    return before, draw(rng, requests, incidents=incidents, slower=slower)


def changes(before: Drawn, now: Drawn) -> dict[str, Change]:
    """What is said of each promise."""
    cells = cells_of(before, now)
    comparisons = sum(map(tests_of, cells.values()))
    return {name: compare(cells[name], least_change(TARGETS[name]), comparisons) for name in cells}


def verdicts(pairs: range, requests: int, *, incidents: float, slower: float = 1.0) -> Counts:
    """Of each promise, and of any of them, over pairs with these seeds."""
    counts = Counts()
    for seed in pairs:
        found = changes(*pair(seed, requests, incidents=incidents, slower=slower))
        given = {(name, change.verdict) for name, change in found.items()}
        counts.update(given | {(ANY, verdict) for _, verdict in given})
    return counts


def reported(before: Drawn, now: Drawn, folder: Path) -> dict[str, Change]:
    """What the report says of the same requests, by way of logs and a store."""
    scratch, store = folder / "scratch", str(folder / "store")
    scratch.mkdir()
    asked = [*_requests(before, WEEK.back(1)), *_requests(now, WEEK)]
    write_logs(asked, folder / "logs")
    load_each_night(list((folder / "logs").iterdir()), store, scratch)
    found = weekly(open_store(store), SLO, WEEK, read_catalogue(), scratch)
    (service,) = found.services
    return {promise.name: promise.change for promise in service.promises}


def _requests(drawn: Drawn, week: Week) -> list[Request]:
    gaps = np.split(drawn.gaps_ns, drawn.starts[1:])
    columns = (drawn.sent_ns, drawn.prompt_tokens, drawn.rejected, drawn.ttft_ns, gaps)
    return [
        Request(
            service="drawn",
            name=f"{week}-{number}",
            sent_ns=week.start_ns + int(sent_ns),
            first_sent_ns=week.start_ns + int(sent_ns),
            facts={},
            prompt_tokens=int(prompt),
            last_prefill_token=None,
            vantages=("client",),
            answers=(_answer(week.start_ns + int(sent_ns), rejected, ttft_ns, own),),
        )
        for number, (sent_ns, prompt, rejected, ttft_ns, own) in enumerate(
            zip(*columns, strict=True)
        )
    ]


def _answer(sent_ns: int, rejected: bool, ttft_ns: int, gaps_ns: Any) -> Answer:
    if rejected:
        return Answer("rejected", (), 0, sent_ns)
    times = (sent_ns + ttft_ns + np.concatenate([[0], np.cumsum(gaps_ns)])).tolist()
    return Answer("completed", tuple(times), len(times), times[-1])


def disagreements(pairs: range, requests: int) -> list[str]:
    """Promises of which the report says something else than the comparison of the arrays."""
    wrong = []
    for seed in pairs:
        drawn = pair(seed, requests, incidents=INCIDENTS, slower=SLOWER)
        with tempfile.TemporaryDirectory() as folder:
            told = reported(*drawn, Path(folder))
        for name, change in changes(*drawn).items():
            if not _same(change, told[name]):
                wrong.append(f"pair {seed}, {name}: {change}, and the report: {told[name]}")
    return wrong


def _same(one: Change, other: Change) -> bool:
    numbers, others = (
        np.array([c.raw, c.matched, c.low, c.high, c.requests_before, c.requests], float)
        for c in (one, other)
    )
    alike = np.allclose(numbers, others, rtol=1e-9, atol=1e-12, equal_nan=True)
    return one.verdict == other.verdict and alike


def main() -> int:
    """Run the benchmark; 1 if chance raised too many alarms, or too few were real."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--slowed", type=int, default=100)
    parser.add_argument("--stored", type=int, default=2)
    given = parser.parse_args()
    console = Console(width=120)
    alike, slow = range(given.pairs), range(1000, 1000 + given.slowed)
    failed = False
    for incidents in (0, INCIDENTS):
        chance = verdicts(alike, given.requests, incidents=incidents)
        real = verdicts(slow, given.requests, incidents=incidents, slower=SLOWER)
        console.print(_table(incidents, chance, given.pairs, real, given.slowed))
        failed |= chance[ANY, WORSE] > MOST_FALSE_SHARE * given.pairs
        failed |= not incidents and real["worst_gap", WORSE] < LEAST_CAUGHT_SHARE * given.slowed
    wrong = disagreements(range(2000, 2000 + given.stored), given.requests)
    console.print(f"{given.stored} pairs through a store: {len(wrong)} promises judged otherwise")
    for problem in wrong:
        console.print(f"WRONG: {problem}", style="red")
    return int(failed or bool(wrong))


def _table(incidents: int, chance: Counts, pairs: int, real: Counts, slowed: int) -> Table:
    table = Table(
        "promise", f"worse, of {pairs} alike", "better", f"worse, of {slowed} slowed", "better",
        title=f"{incidents} incidents a week",
    )  # fmt: skip
    for name in (*TARGETS, ANY):
        counts = (c[name, verdict] for c in (chance, real) for verdict in (WORSE, BETTER))
        table.add_row(name, *map(str, counts))
    return table


if __name__ == "__main__":
    sys.exit(main())
