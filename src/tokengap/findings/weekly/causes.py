"""Why the worst gaps of a week were long, worked out from its streams as far as they are there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tokengap.library import SHARED
from tokengap.library.catalogue import Catalogue
from tokengap.library.inputs import bound
from tokengap.store.connect import Declared, Tables
from tokengap.store.keys import superseding
from tokengap.store.latency import around, by_day
from tokengap.store.promised import WORST_GAP_CAUSES
from tokengap.store.records import Part, uris
from tokengap.store.tables import Store
from tokengap.weekly.calendar import Week

CAUSES_SOUGHT: Final = 2_000
"""Of the longest worst gaps over their limit: each is held against all that ran beside it."""
_RELATION: Final = "gap_causes"


def worst_gap_causes(
    store: Store,
    catalogue: Catalogue,
    facts: Declared,
    week: Week,
    over_ns: int,
    scratch: Path,
) -> Any:
    """The cause of every gap of the week that is longer; schema `WORST_GAP_CAUSES`.

    Days whose streams are pruned have none.
    """
    parts = _parts(store, week)
    needed = catalogue.only(_RELATION)
    needed = needed.storing(name for name in SHARED if name in needed.queries)
    tables = Tables(streams=uris(parts), clocks=store.clocks(), superseding=superseding(parts))
    with bound(tables, needed, facts, scratch) as con:
        found = con.sql(
            f"SELECT {', '.join(WORST_GAP_CAUSES.names)} FROM {_RELATION}"
            f"([{{'statistic': 'worst_gap', 'limit_ns': {over_ns}::BIGINT}}]) ORDER BY ALL"
        )
        return found.to_arrow_table().cast(WORST_GAP_CAUSES)


def _parts(store: Store, week: Week) -> Sequence[Part]:
    """Of the week, and of the days beside it: streams that ran on past midnight."""
    days = by_day(store.live_parts())
    near = (part for day in week.days for part in around(days, str(day)))
    found = {(part.uri, part.first_row): part for part in near if not part.pruned}
    return list(found.values())
