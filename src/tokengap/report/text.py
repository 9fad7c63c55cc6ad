"""An audit on a terminal: verdict first, then the numbers it rests on."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokengap.findings import Audit, Finding, findings
from tokengap.report.sections.against import AGAINST_COLUMNS, against_rows
from tokengap.report.sections.causes import CAUSE_COLUMNS, cause_rows
from tokengap.report.sections.handoff import BOUNDARY_COLUMNS, boundary_rows
from tokengap.report.sections.handoff_stages import STAGE_COLUMNS, stage_rows
from tokengap.report.sections.vantages import VIEW_COLUMNS, view_rows
from tokengap.report.words import (
    PERCENTILES,
    THIN,
    TRY_LIMITS,
    asides,
    boundary,
    endings,
    gap_percentiles,
    interval,
    name_of,
    percentiles,
    plain,
    position,
    request_name,
    share,
    stall_notes,
    trace_names,
)
from tokengap.units import format_count, format_duration

_WORDS: Final = (
    "", "request", "worst gap falls", "set by", "boundary", "from where to where", "not exact",
    "seen at", "requests", "stage", "cause", "how known", "why", "objective", "verdict", "because",
)  # fmt: skip
STALLS_SHOWN: Final = 50
TRACES_SHOWN: Final = 4
_FIRST: Final = ("hidden_stalls", "got_worse")
"""Rules whose findings are the verdict."""
_LEVELS: Final = {"stall": ("●", "bold red"), "unknown": ("?", "yellow"), "note": ("·", "dim")}


def print_audit(audit: Audit, console: Console, *, all_stalls: bool = False) -> None:
    """Write the audit; `all_stalls` lists every hidden stall, however many there are."""
    said = findings(audit)
    console.print(_title(audit), soft_wrap=True)
    _print_findings(console, [f for f in said if f.rule in _FIRST])
    if audit.per_objective:
        console.print(_objectives(audit))
    _print_rows(console, "against the baseline", AGAINST_COLUMNS, against_rows(audit))
    console.print(_percentiles(audit))
    if audit.hidden or audit.possible:
        _print_stalls(console, audit, all_stalls=all_stalls)
    elif audit.ratios:
        console.print(_ratios(audit))
        console.print(f"no limits given; try {TRY_LIMITS}", soft_wrap=True)
    _print_places(console, audit)
    _print_findings(console, [f for f in said if f.rule not in _FIRST])


def _print_places(console: Console, audit: Audit) -> None:
    for title, columns, found in (
        ("why gaps were long", CAUSE_COLUMNS, cause_rows(audit)),
        ("handoff, the same requests by each boundary", BOUNDARY_COLUMNS, boundary_rows(audit)),
        ("what the handoff is made of", STAGE_COLUMNS, stage_rows(audit)),
        ("what each vantage sees, medians", VIEW_COLUMNS, view_rows(audit)),
    ):
        _print_rows(console, title, columns, found)


def _print_rows(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """A table, unless it has no rows."""
    if rows:
        table = _table(f"\n{title}", *columns)
        for row in rows:
            table.add_row(*row)
        console.print(table)


def _title(audit: Audit) -> Text:
    extra = asides(audit.counts)
    text = Text(trace_names(audit.traces, TRACES_SHOWN), style="bold")
    text.append(
        f"\n{boundary(audit)}; {format_count(audit.counts['streams'])} streams; "
        + ", ".join(endings(audit.counts) or ["no requests"])
        + (f" ({', '.join(extra)})" if extra else ""),
        style="not bold",
    )
    return text


def _print_findings(console: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark, style = _LEVELS[finding.level]
        line = Text(f"{mark} ", style=style)
        line.append(plain(finding.says), style="bold" if finding.level == "stall" else "not dim")
        if finding.advice:
            line.append(f" ({finding.advice})", style="dim")
        console.print(line, soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        left = column in _WORDS
        table.add_column(column, justify="left" if left else "right", overflow="fold")
    return table


def _objectives(audit: Audit) -> Table:
    table = _table(
        "\nobjectives",
        "",
        "limit",
        "met",
        "missed",
        "n/a",
        "unknown",
        "attainment",
        "95 %",
        "set by",
    )
    sources = {objective.statistic: objective.source for objective in audit.objectives}
    for row in audit.per_objective:
        table.add_row(
            name_of(audit, row["statistic"]),
            f"≤ {format_duration(row['limit_ns'])}",
            *(format_count(row[k]) for k in ("met", "missed", "not_applicable", "unknown")),
            *share(row),
            Text(sources[row["statistic"]]),
        )
    whole = audit.attainment
    table.add_row(
        "all of them",
        "",
        format_count(whole["good"]),
        format_count(whole["offered"] - whole["good"]),
        "",
        "",
        *share(whole),
        f"good of {format_count(whole['offered'])} offered",
        style="bold",
    )
    return table


def _percentiles(audit: Audit) -> Table:
    table = _table("\npercentiles", "", "n", "left out", *PERCENTILES)
    for row in audit.percentiles:
        if row["n"]:
            table.add_row(
                f"{name_of(audit, row['statistic'])}, per request",
                format_count(row["n"]),
                format_count(row["left_out"]),
                *percentiles(row),
            )
    gaps = audit.gaps
    if gaps["n"]:
        table.add_row(
            "all gaps, per gap",
            format_count(gaps["n"]),
            format_count(gaps["left_out"]),
            *gap_percentiles(gaps),
        )
    table.caption = THIN
    table.caption_justify = "left"
    return table


def _print_stalls(console: Console, audit: Audit, *, all_stalls: bool) -> None:
    stalls = audit.hidden + audit.possible
    shown = stalls if all_stalls else stalls[:STALLS_SHOWN]
    table = _table(
        "\nhidden stalls", "request", "TTFT", "average TPOT", "worst gap", "worst gap falls", "why"
    )
    for row in shown:
        table.add_row(
            Text(request_name(audit, row)),
            interval(row["ttft_ns"], row["ttft_ns"]),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
            position(row),
            stall_notes(audit, row),
        )
    console.print(table)
    if len(shown) < len(stalls):
        console.print(
            f"... and {format_count(len(stalls) - len(shown))} more; --all-stalls lists them"
        )


def _ratios(audit: Audit) -> Table:
    table = _table(
        "\nlargest ratios of worst gap to average",
        "request",
        "average TPOT",
        "worst gap",
        "ratio",
        "worst gap falls",
    )
    for row in audit.ratios:
        table.add_row(
            Text(request_name(audit, row)),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            format_duration(row["worst_gap_ns"]),
            "-" if row["ratio"] is None else f"{row['ratio']:.1f}",
            position(row),
        )
    return table
