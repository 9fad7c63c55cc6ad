"""The run beside the runs of a baseline."""

from dataclasses import asdict
from typing import Final

from tokengap.findings import Audit, findings
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import NAMES, name_of, plain
from tokengap.units import format_count
from tokengap.weekly.gate import share_change, value_change

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
    changes = audit.against.changes.items()
    return Section(
        "against",
        "Against the baseline",
        f"n {format_count(audit.against.runs)} runs of {plain(audit.against.file)}",
        subject.scope,
        table=Table(AGAINST_COLUMNS, against_rows(audit), ("objective", "verdict", "because")),
        data=[{"statistic": statistic} | asdict(change) for statistic, change in changes],
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
            share_change(change) or "-",
            value_change(change) or "-",
            plain(change.says),
        ]
        for statistic, change in changes.items()
    ]
