"""What a week was: what each service promised and kept, what changed, and what it cost.

Times are UTC. None is not measurable, never 0. Shares lie in 0..1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from tokengap.intervals import CONFIDENCE
from tokengap.slo.model import GOOD, Goal, Service
from tokengap.weekly.calendar import Week

BETTER: Final = "better"
WORSE: Final = "worse"
CANNOT_TELL: Final = "cannot_tell"
NOT_COMPARABLE: Final = "not_comparable"


@dataclass(frozen=True)
class Kept:
    """How often one promise was kept, of the offered requests that it applies to."""

    met: int
    missed: int
    unknown: int
    low: float | None
    """Wilson 95 % interval: it takes requests for independent. None if it applies to none."""
    high: float | None
    block_low: float | None = None
    """95 % interval from whole hours, for stalls that share instants; None for less than two."""
    block_high: float | None = None

    @property
    def applies(self) -> int:
        """Requests that count; an unknown one is not kept."""
        return self.met + self.missed + self.unknown

    @property
    def bad(self) -> int:
        """Requests that spend budget."""
        return self.missed + self.unknown

    @property
    def attainment(self) -> float | None:
        """Share that was kept; None if it applies to none."""
        return self.met / self.applies if self.applies else None


@dataclass(frozen=True)
class Budget:
    """Misses that a target allows over the service's window, and what is left of them.

    The window is the one that holds the last day of the week; days after that are not in it yet.
    """

    first: date
    after: date
    """First day that is no longer in the window; it may lie after the week."""
    allowed: Fraction
    """Requests that may miss, of those so far: each day's by the target of that day."""
    spent: int
    spent_this_week: int
    days_seen: int
    """Days of the window with data."""
    days: int
    """Days of the window up to the end of the week."""
    exhausted_in_days: float | None
    """At this week's rate; 0 if it is spent, None if at that rate it never is. The budget of a
    calendar's window grows meanwhile, by as much a day as this week."""

    @property
    def spent_share(self) -> float | None:
        """Of the budget, this week; None without a request."""
        return float(self.spent_this_week / self.allowed) if self.allowed else None

    @property
    def left_share(self) -> float | None:
        """Of the budget, at the end of the week; below 0 if more was spent than there was."""
        return float(1 - self.spent / self.allowed) if self.allowed else None


@dataclass(frozen=True)
class Burn:
    """How fast the budget went: 1 spends it exactly over a window.

    A rate is of the hours before an instant; an instant counts as over if even the low end of
    the share's interval is over the threshold, so that one miss in a quiet hour does not.
    """

    hours: int
    threshold: float
    worst: float | None
    worst_until: datetime | None
    """End of the hours with the highest rate."""
    at_end: float | None
    """Rate of the last hours of the week that have data."""
    hours_over: int
    """Full hours of the week at which the rate was over the threshold."""


@dataclass(frozen=True)
class ValueChange:
    """How the statistic itself changed, as the ratio of geometric means: 1.1 is 10 % more.

    A value counts at most twice its limit: how far beyond it is, is a matter of few incidents.
    """

    raw: float
    matched: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Change:
    """A week against the one before, both judged by its limit of now.

    raw: difference of attainments. matched: the same at equal mix of prompt and answer lengths;
    low..high holds it, and those of all other comparisons of the report, in 95 % of reports.
    """

    verdict: str
    says: str
    """Why this is the verdict, in one sentence."""
    raw: float | None = None
    matched: float | None = None
    low: float | None = None
    high: float | None = None
    requests_before: int = 0
    requests: int = 0
    matched_share: float | None = None
    """Share of the finished requests whose lengths both weeks have."""
    value: ValueChange | None = None
    """None for whole requests, and where values are not exact."""

    @property
    def value_tells(self) -> ValueChange | None:
        """The change of the values, where these decided the verdict and not the share kept."""
        if self.verdict not in {BETTER, WORSE} or self.low is None or self.high is None:
            return None
        return self.value if self.low <= 0 <= self.high else None


@dataclass(frozen=True)
class Promise:
    """One objective in one week."""

    goal: Goal
    """The version in force on the week's last day with a promise."""
    changed_on: date | None
    """First day of that version, if another one was in force earlier in the week."""
    kept: Kept
    budget: Budget
    burn: Sequence[Burn]
    """Shortest hours first."""
    change: Change
    history: Sequence[tuple[Week, Kept]]
    """Up to twelve weeks, this one last; each judged by what was in force then."""

    @property
    def name(self) -> str:
        """The statistic, and whose requests it is about if not all: `worst_gap slo_class=gold`."""
        only = (f"{column}={glob}" for column, glob in self.goal.only.items())
        return " ".join((self.goal.statistic, *only))

    @property
    def is_kept(self) -> bool | None:
        """The week's attainment reaches the target, exactly; None if it applies to none."""
        if not self.kept.applies:
            return None
        return Fraction(self.kept.met, self.kept.applies) >= Fraction(self.goal.target)


@dataclass(frozen=True)
class Coverage:
    """Hours of the week that have requests: one without is no uptime, and no downtime either."""

    hours_due: int
    """Of the week so far, without what is excluded."""
    hours_seen: int
    holes: Sequence[tuple[datetime, datetime]]
    """Spans of hours without a request, longest first."""

    @property
    def share(self) -> float | None:
        """Hours seen / hours due; None if the whole week is excluded."""
        return self.hours_seen / self.hours_due if self.hours_due else None


@dataclass(frozen=True)
class Late:
    """Data of one day of the week that was loaded long after it."""

    day: date
    streams: int
    loaded: datetime
    names: str
    """The files, for a reader."""


@dataclass(frozen=True)
class Excluded:
    """Requests about which nothing was promised."""

    start: datetime
    end: datetime
    reason: str
    requests: int


@dataclass(frozen=True)
class HiddenStalls:
    """Completed requests that met their average TPOT and missed their worst gap."""

    count: int
    possible: int
    completed: int
    before: int | None
    """In the week before, by the limits of then; None where nothing was judged."""
    completed_before: int | None


@dataclass(frozen=True)
class Contributor:
    """One value of one dimension, and its part in the requests that were not good."""

    dimension: str
    """tenant, model, deployment, slo_class, worker, cause or handoff."""
    value: str | None
    """None: the log does not say."""
    offered: int
    bad: int
    offered_share: float
    bad_share: float

    @property
    def attainment(self) -> float:
        """Good of its offered requests."""
        return 1 - self.bad / self.offered


@dataclass(frozen=True)
class WorstRequest:
    """One request far over a limit."""

    trace: str
    request_id: str
    began: datetime | None
    statistic: str
    """The limit it is furthest over, relative to it."""
    value_ns: float
    limit_ns: int
    missed: Sequence[str]
    """All statistics it missed."""
    prompt_tokens: int | None
    output_tokens: int | None
    tenant: str | None
    model: str | None
    worker: str | None
    cause: str | None
    """Of its worst gap; None where none was worked out."""

    @property
    def ratio(self) -> float:
        """How many limits long it is."""
        return self.value_ns / self.limit_ns


@dataclass(frozen=True)
class Trend:
    """Good requests of one week, and what they cost.

    Costs are of whole deployments over the whole week, spare capacity included; of one that
    several services share, by the tokens that each had it read and write.
    """

    week: Week
    offered: int
    good: int
    hours_seen: int
    gpus: float | None
    cost: float | None
    currency: str | None
    power_w: float | None

    @property
    def goodput_per_s(self) -> float | None:
        """Good requests per second of the hours with data."""
        return self.good / (self.hours_seen * 3600) if self.hours_seen else None

    @property
    def cost_per_good(self) -> float | None:
        """None without a cost or a good request."""
        return self.cost / self.good if self.cost is not None and self.good else None


@dataclass(frozen=True)
class Headroom:
    """How much load the promises were kept under, by whole hours of the week."""

    statistic: str
    """The promise that gives way first."""
    peak_per_h: int
    """Requests in the fullest hour."""
    usual_per_h: float
    """Median over the hours with data."""
    kept_up_to_per_h: int | None
    """Hours with at most so many requests, taken together, kept it; None if not even the quieter
    half did: then it is not the load that breaks it."""
    breaks: bool
    """Fuller hours, taken together, missed it."""


@dataclass(frozen=True)
class ServiceWeek:
    """One service in one week."""

    service: Service
    vantage: str | None
    """Where its requests were judged; None without any."""
    origins: Sequence[str]
    offered: int
    not_offered: int
    """Still running, or cancelled without a miss."""
    coverage: Coverage
    promises: Sequence[Promise]
    """In the order of the file; `good` for whole requests stands where the file has it."""
    whole: Kept
    """Good of all offered requests."""
    stalls: HiddenStalls | None
    """None unless both limits are promised."""
    contributors: Sequence[Contributor]
    worst: Sequence[WorstRequest]
    trend: Sequence[Trend]
    """Up to twelve weeks, this one last."""
    headroom: Headroom | None
    excluded: Sequence[Excluded]
    late: Sequence[Late]
    daily: Sequence[tuple[date, Mapping[str, Kept]]]
    """Each day of the week with data, by name of the promise."""
    notes: Sequence[str]
    """What limits the trust in these numbers."""

    @property
    def promise(self) -> Mapping[str, Promise]:
        """The promises by name."""
        return {promise.name: promise for promise in self.promises}

    @property
    def good(self) -> Promise | None:
        """The promise on whole requests of everybody, if there is one."""
        return self.promise.get(GOOD)


@dataclass(frozen=True)
class Weekly:
    """The report of one week."""

    week: Week
    store_version: int
    """Of the table `streams`: the same version gives the same report."""
    ended: bool
    """False if the store's last data lies within the week."""
    services: Sequence[ServiceWeek]
    unmatched: int
    """Requests of the week that belong to no service."""
    comparisons: int
    """Over which the intervals of all changes hold together."""
    confidence: float = CONFIDENCE
    """With which they do."""
    undated: int = 0
    """Streams of the whole store that are on no wall clock: they belong to no week."""
    rejects: int = 0
    """Records that the loads with data of the week left out, as they could not be read."""
