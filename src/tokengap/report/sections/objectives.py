"""What was promised, and how it was kept."""

from typing import Final

from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import name_of, plain, share
from tokengap.units import format_count, format_duration

ATTAINMENT: Final = (
    "Attainment of one objective is met / (met + missed + unknown); of all of them, good / "
    "offered. The interval (Wilson) takes requests for independent; stalls that share instants "
    "make it too narrow."
)
_WORDS: Final = ("objective", "set by")


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
        "objectives",
        "Objectives",
        f"n {format_count(whole['offered'])} offered requests, per request",
        subject.scope,
        data=[*audit.per_objective, {"statistic": "all of them"} | whole],
        table=Table(columns, rows, _WORDS),
        notes=[
            ATTAINMENT,
            *([] if audit.goodput_per_s is None else [_goodput(audit.goodput_per_s)]),
        ],
    )


def _goodput(per_s: float) -> str:
    return f"Goodput: {per_s:.3g} good requests per second of the window."
