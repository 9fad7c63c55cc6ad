"""One request from several places: the handoff by each boundary, and what each vantage sees."""

from collections.abc import Sequence
from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.findings.inexact import WHY
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import interval
from tokengap.units import format_count, format_duration, format_share

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
VIEW_COLUMNS: Final = (
    "seen at", "requests", "TTFT there", "TTFT outside", "worst gap there", "worst gap outside",
    "way in", "way out",
)  # fmt: skip
ONE_HANDOFF: Final = (
    "Each row measures another span of the same handoffs. Where the boundary is set moves time "
    "between TTFT, the first gap and the stages; it removes none."
)
STAGE_COLUMNS: Final = ("boundary", "stage", "n", "p50", "max", "share of the handoff")
STAGES_SUM: Final = (
    "The stages that lie on the handoff's own clock, and `unaccounted`, what none of them covers, "
    "sum exactly to it. A stage on another clock, or with a duration only, is beside the sum."
)
WAYS: Final = (
    "Way in: origin outside to origin there. Way out: first token there to first token outside. "
    "Where two clocks are only known within bounds, so are these. TTFT of two vantages are two "
    "quantities and are never pooled."
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


def stage_rows(audit: Audit) -> list[list[str]]:
    """What the handoffs are made of, where some log has stages of them."""
    named = {row["boundary"] for row in audit.stages if row["stage"] != "unaccounted"}
    return [_stage(row) for row in audit.stages if row["boundary"] in named]


def _stage(row: Row) -> list[str]:
    return [
        row["boundary"],
        row["stage"].replace("_", " "),
        format_count(row["requests"]),
        format_duration(row["p50_ns"]),
        format_duration(row["max_ns"]),
        format_share(row["total_share"]) if row["placed"] else "beside the sum",
    ]


def stages(subject: Subject) -> Section | None:
    """What the handoff is made of, with what no stage accounts for; None without stages."""
    rows = stage_rows(subject.audit)
    if not rows:
        return None
    return Section(
        "What the handoff is made of",
        "n beside each row, per request, boundary beside each row",
        subject.scope,
        table=Table(STAGE_COLUMNS, rows, ("boundary", "stage")),
        notes=[STAGES_SUM],
    )


def view_rows(audit: Audit) -> list[list[str]]:
    """What each view further in sees, beside the outermost one of the same requests."""
    return [_view(row) for row in audit.views]


def _view(row: Row) -> list[str]:
    half = "" if row["part"] == "whole" else f", {row['part']} half"
    return [
        f"{row['inner_vantage']}{half}",
        f"{format_count(row['requests'])} of {format_count(row['of'])} at the {row['vantage']}",
        *(
            interval(row[name], row[name])
            for name in (
                "inner_ttft_p50_ns",
                "ttft_p50_ns",
                "inner_worst_gap_p50_ns",
                "worst_gap_p50_ns",
            )
        ),
        *(_span(row, way) for way in ("way_in", "way_out")),
    ]


def _span(row: Row, way: str) -> str:
    if row["unrelated"] == row["requests"]:
        return "clocks unrelated"
    return interval(row[f"{way}_low_p50_ns"], row[f"{way}_high_p50_ns"])


def views(subject: Subject) -> Section | None:
    """What each vantage sees of the same requests; None where only one logged them."""
    rows = view_rows(subject.audit)
    if not rows:
        return None
    return Section(
        "What each vantage sees",
        f"n {format_count(sum(row['requests'] for row in subject.audit.views))} pairs of views, "
        "medians over requests",
        subject.scope,
        table=Table(VIEW_COLUMNS, rows, ("seen at", "requests")),
        notes=[WAYS],
    )


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
