"""Percentiles, with n and basis beside each."""

from typing import Final

from tokengap.findings.audit import Row
from tokengap.report.section import Section, Subject, Table
from tokengap.report.words import (
    PERCENTILES,
    THIN,
    gap_percentiles,
    name_of,
    percentiles,
    why_nothing,
)
from tokengap.units import format_count

INTERPOLATION: Final = (
    "Completed requests with a value; linear interpolation at position q · (n - 1). Left out: "
    "completed requests without a value, and negative gaps."
)
_WORDS: Final = ("statistic", "basis")


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
        "latency",
        "Percentiles",
        "n and basis beside each row",
        subject.scope,
        data=[*audit.percentiles, _pooled(gaps)],
        table=Table(columns, rows, _WORDS) if rows else None,
        notes=notes if rows else [why_nothing(audit, [])],
    )


def _pooled(gaps: Row) -> Row:
    """All gaps under the columns of the other rows: their percentiles are exact."""
    bounds = {f"{p}_{side}_ns": gaps[f"{p}_ns"] for p in PERCENTILES for side in ("low", "high")}
    return {"statistic": "gap", **{k: gaps[k] for k in ("basis", "n", "left_out")}, **bounds}
