"""Where prefill hands over to decode, by each boundary."""

from collections.abc import Sequence
from typing import Final

from tokengap.findings import Audit, findings
from tokengap.findings.audit import Row
from tokengap.findings.inexact import WHY
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import interval
from tokengap.units import format_count

SPANS: Final = {
    "stream": "token k to token k + 1, as the user sees it",
    "ttft": "prefill end to the first visible token",
    "engine": "prefill worker's first token to the decode worker's",
    "relay": "prefill server's answer to the decode server's arrival",
    "transfer": "KV transfer",
    "decode_wait": "queued at the decode worker to scheduled there",
    "gateway": "prefill complete to the first decode token, at the gateway (an upper bound)",
}
BOUNDARY_COLUMNS: Final = ("boundary", "from where to where", "n", "p50", "p90", "max", "not exact")
ONE_HANDOFF: Final = (
    "Each row measures another span of the same handoffs. Where the boundary is set moves time "
    "between TTFT, the first gap and the stages; it removes none."
)


def handoff(subject: Subject) -> Section:
    """Where prefill hands over to decode."""
    completed = format_count(subject.audit.counts["completed"])
    found = [f for f in findings(subject.audit) if f.rule == "handoff_place"]
    table, notes = boundaries(subject.audit)
    return Section(
        "handoff",
        "Handoff from prefill to decode",
        f"n {completed} completed requests, per request, "
        + ("each boundary named" if table else "boundary stream: token k to token k + 1"),
        subject.scope,
        data=subject.audit.boundaries,
        table=table,
        findings=found,
        notes=notes if found else ["No request completed, so no handoff was seen."],
    )


def boundary_rows(audit: Audit) -> list[list[str]]:
    """The same requests' handoff by each boundary that the logs know anything of."""
    told = [row for row in audit.boundaries if row["n"] or row["bounded"]]
    return [_boundary(row) for row in told] if len(told) > 1 else []


def _boundary(row: Row) -> list[str]:
    return [
        row["boundary"],
        SPANS[row["boundary"]],
        f"{format_count(row['n'])} of {format_count(row['requests'])}",
        interval(row["p50_low_ns"], row["p50_high_ns"]),
        *(interval(row[p], row[p]) for p in ("p90_ns", "max_ns")),
        _why(row),
    ]


def _why(row: Row) -> str:
    left = row["requests"] - row["n"]
    if not left:
        return ""
    bounded = f", {format_count(row['bounded'])} bounded" if row["bounded"] else ""
    reason = row["reason"] or "not_logged"
    return f"{format_count(left)}{bounded}: {WHY.get(reason, reason.replace('_', ' '))}"


def boundaries(audit: Audit) -> tuple[Table | None, Sequence[str]]:
    """The table of boundaries with its notes; nothing where the logs know only one."""
    rows = boundary_rows(audit)
    if not rows:
        return None, ()
    left_out = max(row["no_handoff"] for row in audit.boundaries)
    notes = [ONE_HANDOFF]
    if left_out:
        notes.append(f"Left out: {format_count(left_out)} requests known to have no handoff.")
    return Table(BOUNDARY_COLUMNS, rows, ("boundary", "from where to where", "not exact")), notes
