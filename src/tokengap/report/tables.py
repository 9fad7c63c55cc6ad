"""The tables and notes of the page."""

from typing import Final

from tokengap.findings import RULES, Finding
from tokengap.findings.audit import Row
from tokengap.report.places import boundaries
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import (
    PERCENTILES,
    THIN,
    TRY_LIMITS,
    gap_percentiles,
    interval,
    name_of,
    percentiles,
    plain,
    position,
    request_name,
    share,
    stall_notes,
    why_nothing,
)
from tokengap.units import format_count, format_duration

STALLS_SHOWN: Final = 200
ATTAINMENT: Final = (
    "Attainment of one objective is met / (met + missed + unknown); of all of them, good / "
    "offered. The interval (Wilson) takes requests for independent; stalls that share instants "
    "make it too narrow."
)
INTERPOLATION: Final = (
    "Completed requests with a value; linear interpolation at position q · (n - 1). Left out: "
    "completed requests without a value, and negative gaps."
)
_WORDS: Final = ("request", "worst gap falls", "note", "objective", "set by", "statistic", "basis")
_OWN_PLACE: Final = ("hidden_stalls", "handoff_place")  # rules with a section of their own


def stalls(subject: Subject) -> Section | None:
    """Hidden stalls and possible ones, worst first; without limits, the largest ratios."""
    audit = subject.audit
    if not audit.judges_stalls:
        return _ratios(subject) if audit.ratios else None
    found = audit.hidden + audit.possible
    columns = ("request", "TTFT", "average TPOT", "worst gap", "worst gap falls", "note")
    table = Table(columns, [_stall(subject, row) for row in found[:STALLS_SHOWN]], _WORDS)
    notes = []
    if not found:
        notes.append(
            "No completed request meets its average TPOT and misses its worst gap."
            if audit.counts["completed"]
            else why_nothing(audit, [])
        )
    if len(found) > STALLS_SHOWN:
        more = format_count(len(found) - STALLS_SHOWN)
        notes.append(f"The worst {STALLS_SHOWN} are listed, and {more} more are not.")
    return Section(
        "Hidden stalls",
        f"n {format_count(len(found))} of {format_count(audit.counts['completed'])} completed "
        "requests, per request",
        subject.scope,
        table=table if found else None,
        notes=notes,
    )


def _stall(subject: Subject, row: Row) -> list[str]:
    return [
        request_name(subject.audit, row),
        interval(row["ttft_ns"], row["ttft_ns"]),
        interval(row["tpot_low_ns"], row["tpot_high_ns"]),
        interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
        position(row),
        stall_notes(row),
    ]


def _ratios(subject: Subject) -> Section:
    columns = ("request", "average TPOT", "worst gap", "ratio", "worst gap falls")
    rows = [
        [
            request_name(subject.audit, row),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            format_duration(row["worst_gap_ns"]),
            "-" if row["ratio"] is None else f"{row['ratio']:.1f}",
            position(row),
        ]
        for row in subject.audit.ratios
    ]
    return Section(
        "Largest ratios of worst gap to average",
        f"the first {len(rows)}, per request",
        subject.scope,
        table=Table(columns, rows, _WORDS),
        notes=[f"Without limits nothing is judged; try {TRY_LIMITS}."],
    )


def objectives(subject: Subject) -> Section | None:
    """What was promised, and how it was kept."""
    audit = subject.audit
    if not audit.objectives:
        return None
    columns = (
        "objective", "limit", "met", "missed", "not applicable", "unknown", "attainment",
        "95 % interval", "set by",
    )  # fmt: skip
    sources = {objective.statistic: objective.source for objective in audit.objectives}
    rows = [
        [
            name_of(audit, row["statistic"]),
            f"≤ {format_duration(row['limit_ns'])}",
            *(format_count(row[k]) for k in ("met", "missed", "not_applicable", "unknown")),
            *share(row),
            plain(sources[row["statistic"]]),
        ]
        for row in audit.per_objective
    ]
    whole = audit.attainment
    missed = format_count(whole["offered"] - whole["good"])
    rows.append(["all of them", "", format_count(whole["good"]), missed, "", "", *share(whole), ""])
    return Section(
        "Objectives",
        f"n {format_count(whole['offered'])} offered requests, per request",
        subject.scope,
        table=Table(columns, rows, _WORDS),
        notes=[
            ATTAINMENT,
            *([] if audit.goodput_per_s is None else [_goodput(audit.goodput_per_s)]),
        ],
    )


def _goodput(per_s: float) -> str:
    return f"Goodput: {per_s:.3g} good requests per second of the window."


def latency(subject: Subject) -> Section:
    """Percentiles, with n and basis beside each."""
    audit = subject.audit
    columns = ("statistic", "basis", "n", "left out", *PERCENTILES)
    rows = [
        [
            name_of(audit, row["statistic"]),
            "per request",
            format_count(row["n"]),
            format_count(row["left_out"]),
            *percentiles(row),
        ]
        for row in audit.percentiles
        if row["n"]
    ]
    gaps = audit.gaps
    if gaps["n"]:
        counts = (format_count(gaps["n"]), format_count(gaps["left_out"]))
        rows.append(["all gaps", "per gap", *counts, *gap_percentiles(gaps)])
    notes = [INTERPOLATION, f"{THIN}."]
    return Section(
        "Percentiles",
        "n and basis beside each row",
        subject.scope,
        table=Table(columns, rows, _WORDS) if rows else None,
        notes=notes if rows else [why_nothing(audit, [])],
    )


def handoff(subject: Subject) -> Section:
    """Where prefill hands over to decode."""
    completed = format_count(subject.audit.counts["completed"])
    found = [f for f in _findings(subject) if f.rule == "handoff_place"]
    table, notes = boundaries(subject.audit)
    return Section(
        "Handoff from prefill to decode",
        f"n {completed} completed requests, per request, "
        + ("each boundary named" if table else "boundary stream: token k to token k + 1"),
        subject.scope,
        table=table,
        findings=found,
        notes=notes if found else ["No request completed, so no handoff was seen."],
    )


def quality(subject: Subject) -> Section:
    """What limits the trust in the data."""
    found = [f for f in _findings(subject) if f.rule not in _OWN_PLACE]
    return Section(
        "Data quality",
        f"n {format_count(subject.audit.counts['streams'])} streams, all that were read",
        subject.scope,
        findings=found,
        notes=[] if found else ["Nothing in the logs limits the trust in these numbers."],
    )


def _findings(subject: Subject) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(subject.audit)]
