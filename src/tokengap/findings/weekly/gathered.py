"""All that a week's report reads of the store, for the services of one declaration."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from tokengap.findings.audit import Row
from tokengap.findings.weekly.causes import CAUSES_SOUGHT, worst_gap_causes
from tokengap.findings.weekly.judged import Judging, judging, ns_of
from tokengap.library.catalogue import Catalogue
from tokengap.library.from_kept import from_kept
from tokengap.library.latency_rows import DayRows
from tokengap.slo.model import Goal, SloFile
from tokengap.slo.profiles import Profile
from tokengap.store.connect import Declared
from tokengap.store.promised import bind_causes
from tokengap.store.tables import Store
from tokengap.utc import DAY_NS
from tokengap.weekly.budget import LONGEST_BURN_DAYS
from tokengap.weekly.calendar import Week

TREND_WEEKS: Final = 12
WORST_SHOWN: Final = 10


@dataclass(frozen=True)
class Gathered:
    """Answers of the library's relations `promised_*`, named after them.

    hours and work are of all days read; cells of the week and the one before, judged alike;
    places by week; the rest of the week. first: the first day read.
    """

    first: date
    profiles: Sequence[Profile]
    vantages: Mapping[str, str]
    unmatched: int
    hours: Any
    work: Sequence[Row]
    cells: Any
    places_before: Sequence[Row]
    places: Sequence[Row]
    contributors: Sequence[Row]
    worst: Sequence[Row]
    causes: Sequence[Row]
    sources: Sequence[Row]
    excluded: Sequence[Row]
    vantages_by_day: Sequence[Row]
    """Of each day read, the vantages of its rows."""
    declared_otherwise: Sequence[str]
    """Days whose rows were made under other declarations, and whose streams are pruned."""


def first_day(file: SloFile, week: Week) -> date:
    """The first day that any number of the report is about."""
    windows = [service.window.span(week.last)[0] for service in file.services]
    burn = week.first - timedelta(LONGEST_BURN_DAYS)
    return min(week.back(TREND_WEEKS - 1).first, burn, *windows)


def gather(
    store: Store,
    days: Sequence[DayRows],
    file: SloFile,
    names: Collection[str],
    week: Week,
    catalogue: Catalogue,
    facts: Declared,
    scratch: Path,
) -> Gathered:
    """Ask everything about the services of these names, from the rows of these days."""
    first, before = first_day(file, week), week.back(1)
    with from_kept(days, catalogue.only(*_ASKED), facts, scratch) as con:
        judged = judging(con, days, file, names, week)
        judged.over(first, week.after)
        hours, work = judged.table("FROM promised_hours"), judged.rows("FROM promised_work")
        vantages_by_day = judged.rows(_VANTAGES)
        judged.over(before.first, week.after, in_force_at_end(week))
        cells = judged.table("FROM promised_cells() ORDER BY ALL")
        judged.over(before.first, week.first)
        places_before = judged.rows("FROM promised_places")
        judged.over(week.first, week.after)
        over_ns = judged.rows(_OVER)[0]["over_ns"]
        if over_ns is not None:
            bind_causes(con, worst_gap_causes(store, catalogue, facts, week, over_ns, scratch))
        return Gathered(
            first=first,
            profiles=judged.profiles,
            vantages=judged.vantages,
            unmatched=judged.unmatched,
            hours=hours,
            work=work,
            cells=cells,
            places_before=places_before,
            places=judged.rows("FROM promised_places"),
            contributors=judged.rows("FROM promised_contributors ORDER BY ALL"),
            worst=judged.rows(_WORST),
            causes=judged.rows("FROM promised_causes"),
            sources=judged.rows(_SOURCES),
            excluded=list(_excluded(judged, file, week)),
            vantages_by_day=vantages_by_day,
            declared_otherwise=[row.day for row in days if not row.as_declared],
        )


_ASKED: Final = (
    "promised_hours", "promised_work", "promised_cells", "promised_places",
    "promised_contributors", "promised_worst", "promised_causes",
)  # fmt: skip
_WORST: Final = f"""
FROM promised_worst
QUALIFY row_number() OVER (PARTITION BY profile ORDER BY ratio DESC, trace, request_id)
    <= {WORST_SHOWN}
"""
_OVER: Final = f"""
SELECT min(over_ns) AS over_ns
FROM (
    SELECT greatest(worst_gap_ns - 1, worst_gap_limit_ns) AS over_ns
    FROM promised_requests
    WHERE worst_gap = 'missed' AND worst_gap_ns IS NOT NULL
    ORDER BY worst_gap_ns DESC
    LIMIT {CAUSES_SOUGHT}
)
"""
"""Length beyond which causes are sought; NULL if no worst gap missed its limit."""
_VANTAGES: Final = f"""
SELECT (began_ns // {DAY_NS})::INTEGER AS day, list(DISTINCT vantage) AS vantages
FROM _kept_latency
GROUP BY day
ORDER BY day
"""
_SOURCES: Final = """
SELECT profile, day, split_part(source, ':', 2) AS file, count(*) AS requests
FROM promised_requests
GROUP BY ALL
"""


def in_force_at_end(week: Week) -> Any:
    """Judges every day by what holds on the last day of the week on which each promise does."""

    def held(profile: Profile, _: date) -> dict[str, Goal]:
        goals: dict[str, Goal] = {}
        for day in week.days:
            goals |= profile.goals(day)
        return goals

    return held


def _excluded(judged: Judging, file: SloFile, week: Week) -> list[Row]:
    """Requests that began in each span that touches the week, by service."""
    found = []
    for profile in judged.profiles:
        for exclusion in file.exclusions_of(profile.service.name):
            if exclusion.start.date() < week.after and exclusion.end.date() >= week.first:
                count = judged.rows(
                    "SELECT count(*) AS requests FROM promised_requests"
                    f" WHERE excluded AND profile = {profile.number}"
                    f" AND began_ns >= {ns_of(exclusion.start)}"
                    f" AND began_ns < {ns_of(exclusion.end)}"
                )[0]["requests"]
                found.append({"profile": profile.number, "span": exclusion, "requests": count})
    return found
