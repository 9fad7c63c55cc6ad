"""How many requests were there at once."""

from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import CONCURRENCY_COLUMNS, concurrency_rows, scope
from tokengap.report.section import Section, Table


def concurrency(found: Baseline) -> Section:
    """Percentiles over the time that any request was there."""
    told = list(concurrency_rows(found))
    return Section(
        "concurrency",
        "Requests at once",
        "over the time that any was there",
        scope(found),
        data=found.concurrency,
        table=Table(CONCURRENCY_COLUMNS, told, ("requests",)) if told else None,
        notes=[
            "In the system: from the origin to the end. Being decoded: from the first token to the "
            "last."
            if told
            else "No origins and ends are logged."
        ],
    )
