"""A week as a report may meet it: two services, and one of everything that can be said of them.

All is written down, nothing measured: counts of which the tests know what must be read.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from tokengap.slo.model import GOOD, Goal, Service
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import (
    BETTER,
    CANNOT_TELL,
    NOT_COMPARABLE,
    WORSE,
    Budget,
    Burn,
    Change,
    Contributor,
    Coverage,
    Excluded,
    Headroom,
    HiddenStalls,
    Kept,
    Late,
    Promise,
    ServiceWeek,
    Trend,
    ValueChange,
    Weekly,
    WorstRequest,
)

MS: Final = 1_000_000
WEEK: Final = Week(date(2026, 11, 23))
NAME: Final = "<b>|@x"
_Z: Final = 1.959963984540054


def kept(met: int, missed: int, unknown: int = 0, wider: float = 0.0) -> Kept:
    """Counts with their Wilson interval; `wider` adds one from blocks of time, so much wider."""
    n = met + missed + unknown
    if not n:
        return Kept(0, 0, 0, None, None)
    share, z2 = met / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    blocks = (max(0.0, low - wider), min(1.0, high + wider)) if wider else (None, None)
    return Kept(met, missed, unknown, low, high, *blocks)


def at(day: int, hour: int) -> datetime:
    """An hour of a day of the week, 0 being its Monday."""
    return datetime(2026, 11, 23, hour, tzinfo=UTC) + timedelta(day)


def goal(statistic: str, limit_ms: int | None, target: str, **only: str) -> Goal:
    limit_ns = None if limit_ms is None else limit_ms * MS
    return Goal(statistic, limit_ns, Decimal(target), date(2026, 1, 1), only=only)


def budget(allowed: int, before: int, this_week: int, **changed: Any) -> Budget:
    """Of 28 days up to the end of the week, all with data."""
    given: dict[str, Any] = {
        "first": date(2026, 11, 2),
        "after": date(2026, 11, 30),
        "allowed": Fraction(allowed),
        "spent": before + this_week,
        "spent_this_week": this_week,
        "days_seen": 28,
        "days": 28,
        "exhausted_in_days": None,
    }
    return Budget(**(given | changed))


def burns(short: float, hours_over: int = 0, until: datetime | None = None) -> list[Burn]:
    """Three rules; the shortest with the given worst rate."""
    end = until or at(2, 15)
    return [
        Burn(1, 14.4, short, end, 0.4, hours_over),
        Burn(6, 6.0, short / 4, end, 0.5, 0),
        Burn(72, 1.0, short / 30, at(4, 0), 0.6, 0),
    ]


def history(shares: Sequence[float], requests: int, last: Kept) -> list[tuple[Week, Kept]]:
    """Weeks that kept these shares, then the week itself."""
    weeks = list(WEEK.up_to(len(shares) + 1))
    earlier = [kept(met := round(requests * share), requests - met) for share in shares]
    return list(zip(weeks, [*earlier, last], strict=True))


def promise(promised: Goal, told: Kept, **changed: Any) -> Promise:
    """One that spends half of its budget and tells no change, but for what is given."""
    allowed = max(1, round(4 * told.applies * float(1 - promised.target)))
    given: dict[str, Any] = {
        "changed_on": None,
        "budget": budget(allowed, told.bad, told.bad),
        "burn": burns(4.8),
        "change": Change(CANNOT_TELL, "The interval holds no difference.", 0.0004, 0.0003, -0.002,
                         0.003, told.applies - 40, told.applies, 0.98),
        "history": history([0.994] * 11, max(told.applies, 1), told),
    }  # fmt: skip
    return Promise(promised, kept=told, **(given | changed))


_CHAT: Final = (
    goal("worst_gap", 500, "0.99"),
    goal("worst_gap", 300, "0.995", slo_class="gold"),
    goal("ttft", 2000, "0.95"),
    goal(GOOD, None, "0.95"),
)
_CODE: Final = (
    goal("handoff_gap", 200, "0.99"),
    goal("tpot", 50, "0.99"),
    goal("e2e", 60_000, "0.9"),
)


def _chat_promises() -> list[Promise]:
    slow = Change(
        WORSE, "Lower at equal mix, beyond what chance explains.", -0.0094, -0.0088, -0.0121,
        -0.0055, 39_500, 40_000, 0.97, ValueChange(1.12, 1.11, 1.06, 1.16),
    )  # fmt: skip
    missed = kept(39_280, 700, 20, wider=0.004)
    return [
        promise(
            _CHAT[0],
            missed,
            budget=budget(1600, 1100, 720, exhausted_in_days=0.0),
            burn=burns(22.0, 3),
            change=slow,
            history=history(
                [0.9931, 0.9925, 0.9937, 0.9942, 0.9918, 0.9933, 0.9929, 0.9941, 0.9936, 0.9921,
                 0.9914],
                39_500, missed,
            ),
        ),
        promise(
            _CHAT[1],
            kept(3_990, 10),
            changed_on=date(2026, 11, 25),
            budget=budget(80, 26, 10, exhausted_in_days=30.8),
            history=history([0.997] * 11, 3_900, kept(3_990, 10)),
        ),
        promise(
            _CHAT[2],
            kept(38_800, 1_200),
            budget=budget(8000, 3700, 1200, exhausted_in_days=18.1),
            history=history([0.966, 0.968, 0.971, 0.969, 0.967, 0.970, 0.972, 0.968, 0.969, 0.971,
                             0.970], 39_000, kept(38_800, 1_200)),
        ),
        promise(
            _CHAT[3],
            kept(38_400, 1_580, 20),
            budget=budget(8000, 5000, 1600, exhausted_in_days=6.1),
            history=history([0.964, 0.966, 0.968, 0.967, 0.963, 0.967, 0.968, 0.966, 0.966, 0.967,
                             0.965], 39_000, kept(38_400, 1_580, 20)),
        ),
    ]  # fmt: skip


def _code_promises() -> list[Promise]:
    refused = Change(
        NOT_COMPARABLE, "The handoff was measured at another boundary the week before: relay.",
        requests_before=6_100, requests=6_000,
    )  # fmt: skip
    better = Change(
        BETTER, "Higher at equal mix, beyond what chance explains.", 0.021, 0.019, 0.006, 0.032,
        6_100, 6_000, 0.99, ValueChange(0.93, 0.94, 0.90, 0.98),
    )  # fmt: skip
    return [
        promise(_CODE[0], kept(5_960, 22, 18), change=refused,
                history=history([], 0, kept(5_960, 22, 18))),
        promise(_CODE[1], kept(5_975, 25), history=history([0.995] * 7, 6_000, kept(5_975, 25))),
        promise(_CODE[2], kept(5_700, 300), change=better,
                history=history([0.92, 0.93, 0.925, 0.93, 0.93, 0.928, 0.929], 6_100,
                                kept(5_700, 300))),
    ]  # fmt: skip


def daily(promises: Sequence[Promise], days: Sequence[int]) -> list[tuple[date, dict[str, Kept]]]:
    """Each promise in equal parts, the third day with twice the misses."""
    return [
        (WEEK.days[day], {p.name: _part(p.kept, len(days), 2 if day == 2 else 1) for p in promises})
        for day in days
    ]


def _part(whole: Kept, days: int, times: int) -> Kept:
    bad = round(whole.bad * times / (days + 1))
    return kept(whole.applies // days - bad, bad)


def trend(requests: int, share: float, weeks: int, cost: float | None) -> list[Trend]:
    """Ever more requests at the same cost."""
    return [
        Trend(week, offered := requests + 300 * step, int(offered * share), 168, 8.0, cost,
              "EUR" if cost else None, None)
        for step, week in enumerate(WEEK.up_to(weeks))
    ]  # fmt: skip


def _worst(tenant: str) -> list[WorstRequest]:
    given: dict[str, Any] = {
        "statistic": "worst_gap", "limit_ns": 500 * MS, "prompt_tokens": 12_000,
        "output_tokens": 512, "model": "llama-3-70b", "worker": "decode-3",
    }  # fmt: skip
    return [
        WorstRequest("gateway-2026-11-25", f"req-{number}{NAME}", at(2, 14), value_ns=value * MS,
                     missed=("worst_gap", "e2e"), tenant=tenant, cause=cause, **given)
        for number, (value, cause) in enumerate(
            [(4200, "prefill_interference"), (3900, "prefill_interference"), (2100, None)])
    ]  # fmt: skip


def chat() -> ServiceWeek:
    """Misses a promise, and spent more than its budget."""
    promises = _chat_promises()
    return ServiceWeek(
        service=Service("chat", _CHAT, description="The assistant"),
        vantage="gateway",
        origins=("received",),
        offered=40_000,
        not_offered=210,
        coverage=Coverage(166, 166, ()),
        promises=promises,
        whole=kept(38_400, 1_580, 20),
        stalls=HiddenStalls(640, 12, 39_500, 310, 39_000),
        contributors=[
            Contributor("tenant", NAME, 7_200, 992, 0.18, 0.62),
            Contributor("tenant", "acme", 32_800, 608, 0.82, 0.38),
            Contributor("model", "llama-3-70b", 40_000, 1_600, 1.0, 1.0),
            Contributor("worker", "decode-3", 10_000, 800, 0.25, 0.5),
            Contributor("worker", None, 30_000, 800, 0.75, 0.5),
            Contributor("cause", "prefill_interference", 1_136, 1_136, 0.0284, 0.71),
            Contributor("cause", "unexplained", 464, 464, 0.0116, 0.29),
        ],
        worst=_worst(NAME),
        trend=trend(36_700, 0.96, 12, 1_344.0),
        headroom=Headroom("worst_gap", 520, 210.0, 380, breaks=True),
        excluded=[Excluded(at(3, 2), at(3, 4), "kernel update", 85)],
        late=[Late(WEEK.days[1], 1_900, datetime(2026, 12, 1, 6, tzinfo=UTC), "gw-24b.jsonl")],
        daily=daily(promises, range(7)),
        notes=["20 requests are unknown: their deliveries came through a buffering proxy."],
    )


def code() -> ServiceWeek:
    """Keeps its promises, with hours that no log covers."""
    promises = _code_promises()
    return ServiceWeek(
        service=Service("code", _CODE, handoff="stream"),
        vantage="client",
        origins=("sent",),
        offered=6_000,
        not_offered=4,
        coverage=Coverage(168, 155, [(at(5, 3), at(5, 12)), (at(6, 1), at(6, 5))]),
        promises=promises,
        whole=kept(5_650, 330, 20),
        stalls=None,
        contributors=[
            Contributor("tenant", "acme", 6_000, 350, 1.0, 1.0),
            Contributor("handoff", "gap", 5_400, 340, 0.9, 0.97),
            Contributor("handoff", "none", 600, 10, 0.1, 0.03),
        ],
        worst=[],
        trend=trend(3_900, 0.942, 8, None),
        headroom=None,
        excluded=[],
        late=[],
        daily=daily(promises, (0, 1, 2, 3, 4, 6)),
        notes=[],
    )


def weekly(*services: ServiceWeek, **changed: Any) -> Weekly:
    """The report of the week on these services, or on both."""
    given: dict[str, Any] = {"unmatched": 31, "comparisons": 7, "ended": True}
    return Weekly(WEEK, 412, services=services or (chat(), code()), **(given | changed))


def empty(name: str = "idle", *goals: Goal) -> ServiceWeek:
    """A service without a request."""
    goals = goals or (goal("ttft", 500, "0.99"),)
    nothing = kept(0, 0)
    refused = Change(NOT_COMPARABLE, "This week has no request.")
    silent = [Burn(hours, rate, None, None, None, 0) for hours, rate in ((1, 14.4), (72, 1.0))]
    promises = [
        promise(g, nothing, budget=budget(0, 0, 0, days_seen=0), change=refused, burn=silent,
                history=[(WEEK, nothing)])
        for g in goals
    ]  # fmt: skip
    no: Mapping[str, Any] = dict.fromkeys(
        ("contributors", "worst", "excluded", "late", "daily"), ()
    )
    return ServiceWeek(
        Service(name, goals), None, (), 0, 0, Coverage(168, 0, [(at(0, 0), at(7, 0))]), promises,
        nothing, None, trend=[Trend(WEEK, 0, 0, 0, None, None, None, None)], headroom=None,
        notes=(), **no,
    )  # fmt: skip


def single() -> ServiceWeek:
    """One service with one promise, which it keeps."""
    promises = [promise(goal("ttft", 500, "0.9"), kept(95, 5))]
    return ServiceWeek(
        Service("one", (promises[0].goal,)), "client", ("sent",), 100, 0, Coverage(168, 168, ()),
        promises, kept(95, 5), None, (), (), trend(100, 0.95, 1, None), None, (), (),
        daily(promises, range(7)), (),
    )  # fmt: skip
