"""SLO files for tests: one in full, and any that can be."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from hypothesis import strategies as st

from tokengap.slo.document import parse_toml
from tokengap.slo.limits import STATISTICS
from tokengap.slo.model import (
    GOOD,
    MATCHED,
    NARROWED,
    Deployment,
    Exclusion,
    Goal,
    Service,
    SloFile,
    Window,
)
from tokengap.slo.services import services_of
from tokengap.units import INT64_MAX

FULL: Final = """\
[[service]]
name = "chat"
description = "Assistants of the web page"
match = { deployment = "chat-*", slo_class = ["interactive", "premium"] }
vantage = "client"
origin = "planned"
handoff = "engine"
window = "28d"

[[service.objective]]
statistic = "worst_gap"
limit = "500ms"
target = 0.99
from = 2026-01-01

[[service.objective]]       # tightened in November; October is judged by the one above
statistic = "worst_gap"
limit = "400ms"
target = 0.99
from = 2026-11-01

[[service.objective]]
statistic = "worst_gap"
limit = "300ms"
target = 0.995
from = 2026-06-01
slo_class = "premium"

[[service.objective]]
statistic = "worst_gap"
limit = "250ms"
target = 0.9
from = 2026-06-01
until = 2026-12-01
tenant = "acme-*"

[[service.objective]]
statistic = "good"
target = 0.95
from = 2026-01-01

[[service]]
name = "batch"
window = "month"

[[service.objective]]
statistic = "e2e"
limit = "10min"
target = 0.9
from = 2026-01-01

[[deployment]]
name = "chat-eu"
from = 2026-01-01
gpus = 16
cost_per_h = 38.4
currency = "EUR"
power_w = 11200

[[deployment]]
name = "chat-eu"
from = 2026-10-01
gpus = 24

[[exclusion]]
from = 2026-11-21T02:00:00Z
until = 2026-11-21T04:00:00Z
reason = "New kernels on all hosts"
service = "chat"
"""


def full() -> SloFile:
    return services_of(parse_toml(FULL, "slo.toml"))


DAYS = st.dates(date(2000, 1, 1), date(2100, 1, 1))
_PRINTABLE = st.characters(exclude_categories=["C", "Z"], include_characters=" ")
TEXTS = st.text(_PRINTABLE, min_size=1, max_size=12).filter(lambda text: text.strip() != "")
NAMES = st.sampled_from(["chat", "no", "0x1", "2026-01-01", f"a{'-' * 61}z", f"a{'-' * 60}z"])
NUMBERS = st.decimals(Decimal("0.001"), Decimal(10**6), places=3)
WINDOWS = st.builds(Window, st.just("rolling"), st.integers(1, 366)) | st.sampled_from(
    [Window("week"), Window("month")]
)
MATCHES = st.dictionaries(
    st.sampled_from(MATCHED), st.lists(TEXTS, min_size=1, max_size=2).map(tuple), min_size=1
)


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    statistic = draw(st.sampled_from([*STATISTICS, GOOD]))
    start = draw(DAYS)
    return Goal(
        statistic,
        None if statistic == GOOD else draw(st.integers(1, INT64_MAX)),
        draw(st.decimals(Decimal("0.000000001"), Decimal("0.999999999"), places=9)),
        start,
        draw(st.none() | st.integers(1, 400).map(lambda days: start + timedelta(days))),
        draw(st.dictionaries(st.sampled_from(NARROWED), TEXTS)),
    )


@st.composite
def services(draw: st.DrawFn) -> Service:
    held = st.lists(goals(), min_size=1, max_size=4, unique_by=lambda goal: (goal.key, goal.start))
    return Service(
        draw(NAMES),
        tuple(draw(held)),
        match=draw(MATCHES),
        description=draw(st.none() | TEXTS),
        vantage=draw(st.sampled_from([None, "client", "gateway", "engine"])),
        origin=draw(st.sampled_from([None, "planned", "sent", "received", "arrival"])),
        handoff=draw(st.sampled_from(["stream", "ttft", "engine", "relay", "transfer"])),
        window=draw(WINDOWS),
    )


@st.composite
def deployments(draw: st.DrawFn) -> Deployment:
    costs = draw(st.none() | NUMBERS)
    return Deployment(
        draw(TEXTS),
        draw(DAYS),
        draw(st.integers(1, 10**6)),
        costs,
        None if costs is None else draw(st.sampled_from(["EUR", "USD"])),
        draw(st.none() | NUMBERS),
    )


@st.composite
def files(draw: st.DrawFn) -> SloFile:
    made = draw(st.lists(services(), min_size=1, max_size=3, unique_by=lambda s: s.name))
    names = [service.name for service in made]
    moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (Hypothesis adds the zone)
    spans = st.lists(moments, min_size=2, max_size=2, unique=True).map(sorted)
    exclusions = st.builds(
        lambda span, reason, named: Exclusion(span[0], span[1], reason, tuple(named)),
        spans,
        TEXTS,
        st.lists(st.sampled_from(names), unique=True),
    )
    held = st.lists(deployments(), max_size=2, unique_by=lambda d: (d.name, d.start))
    return SloFile(tuple(made), tuple(draw(held)), tuple(draw(st.lists(exclusions, max_size=2))))
