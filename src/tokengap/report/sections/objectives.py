"""What was promised, and how it was kept."""

from collections.abc import Iterator
from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.report.chart_attainment import attainment_chart
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import binding, name_of, plain, share
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
        chart=attainment_chart(drawn) if (drawn := _drawn(audit)) else None,
        data=[*audit.per_objective, {"statistic": "all of them"} | whole],
        table=Table(columns, rows, _WORDS),
        notes=list(_notes(audit)),
    )


def _drawn(audit: Audit) -> list[Row]:
    """The shares and intervals of the chart; nothing where no request was offered."""
    whole = audit.attainment
    if not whole["offered"]:
        return []
    shares = ("attainment", "low", "high")
    named = [
        {
            "name": f"{name_of(audit, row['statistic'])} ≤ {format_duration(row['limit_ns'])}",
            "kind": "binding" if _is_binding(audit, row["statistic"]) else "one",
            **{key: row[key] for key in shares},
        }
        for row in audit.per_objective
    ]
    together = {"name": "all of them", "kind": "all", **{key: whole[key] for key in shares}}
    return [*named, together]


def _is_binding(audit: Audit, statistic: str) -> bool:
    row = audit.binding
    return row is not None and statistic in (row["statistic"], *row["tied"])


def _notes(audit: Audit) -> Iterator[str]:
    if found := binding(audit):
        yield f"{found} (◆). No other objective is the only miss of more requests."
    yield ATTAINMENT
    if audit.goodput_per_s is not None:
        yield f"Goodput: {audit.goodput_per_s:.3g} good requests per second of the window."
