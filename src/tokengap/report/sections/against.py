"""The run beside the runs of a baseline."""

from typing import Final

from tokengap.findings import Audit, findings
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import NAMES, name_of, plain
from tokengap.units import format_count
from tokengap.weekly.model import Change

AGAINST_COLUMNS: Final = ("objective", "verdict", "share kept", "values", "because")
READING: Final = (
    "Differences are at equal mix of prompt and answer lengths, with the intervals that hold all "
    "of them in 95 % of comparisons; values are ratios of geometric means. A change counts only "
    "beyond the noise between the runs of the baseline."
)


def against(subject: Subject) -> Section | None:
    """What changed since the runs of a baseline; None without one."""
    audit = subject.audit
    if audit.against is None:
        return None
    rows = against_rows(audit)
    return Section(
        "against",
        "Against the baseline",
        f"n {format_count(audit.against.runs)} runs of {plain(audit.against.file)}",
        subject.scope,
        table=Table(AGAINST_COLUMNS, rows, ("objective", "verdict", "because")),
        data=[dict(zip(AGAINST_COLUMNS, row, strict=True)) for row in rows],
        findings=[finding for finding in findings(audit) if finding.rule == "got_worse"],
        notes=[READING],
    )


def against_rows(audit: Audit) -> list[list[str]]:
    """A row a statistic; none without a baseline."""
    changes = {} if audit.against is None else audit.against.changes
    return [
        [
            name_of(audit, statistic) if statistic in NAMES else "all of them",
            change.verdict.replace("_", " "),
            _share(change),
            _values(change),
            plain(change.says),
        ]
        for statistic, change in changes.items()
    ]


def _share(change: Change) -> str:
    """In points, with its interval."""
    if change.matched is None or change.low is None or change.high is None:
        return "-"
    value, low, high = (
        f"{round(side * 100, 6):+.2g}" for side in (change.matched, change.low, change.high)
    )
    return f"{value} ({low} to {high}) points"


def _values(change: Change) -> str:
    value = change.value
    if value is None or value.matched is None or value.low is None or value.high is None:
        return "-"
    return f"times {value.matched:.3f} ({value.low:.3f} to {value.high:.3f})"
