"""An audit on a terminal: verdict first, then the numbers it rests on."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tokengap.findings import RULES, Audit, Finding
from tokengap.findings.audit import Row
from tokengap.units import format_count, format_duration, format_share

STALLS_SHOWN: Final = 50
_LEVELS: Final = {"stall": ("●", "bold red"), "unknown": ("?", "yellow"), "note": ("·", "dim")}
_NAMES: Final = {
    "ttft": "TTFT",
    "ttft_from_planned": "TTFT from planned",
    "tpot": "average TPOT",
    "worst_gap": "worst gap",
    "handoff_gap": "handoff gap",
    "e2e": "end to end",
    "gap_p50": "own gaps p50",
    "gap_p90": "own gaps p90",
    "gap_p99": "own gaps p99",
}
_ENDINGS: Final = (
    "completed",
    "failed",
    "timed_out",
    "rejected",
    "truncated",
    "cancelled",
    "in_flight",
)


def print_audit(audit: Audit, console: Console, *, all_stalls: bool = False) -> None:
    """Write the audit; `all_stalls` lists every hidden stall, however many there are."""
    findings = [finding for rule in RULES for finding in rule(audit)]
    console.print(_title(audit), soft_wrap=True)
    _print_findings(console, [f for f in findings if f.rule == "hidden_stalls"])
    if audit.per_objective:
        console.print(_objectives(audit))
    console.print(_percentiles(audit))
    if audit.hidden or audit.possible:
        _print_stalls(console, audit, all_stalls=all_stalls)
    elif audit.ratios:
        console.print(_ratios(audit))
    _print_findings(console, [f for f in findings if f.rule != "hidden_stalls"])


def interval(low: float | None, high: float | None) -> str:
    """A duration, or the bounds it lies in."""
    if low is None:
        return "-"
    if low == high:
        return format_duration(low)
    return f"≥ {format_duration(low)}" if high is None else _between(low, high)


def _between(low: float, high: float) -> str:
    shown = (format_duration(low), format_duration(high))
    return shown[0] if shown[0] == shown[1] else " to ".join(shown)


def position(row: Row) -> str:
    """Where in the stream the worst gap falls."""
    if row["worst_gap_index"] is None:
        return "-"
    if row["worst_gap_after_token"] is not None:
        return f"after token {row['worst_gap_after_token']}"
    return f"after delivery {row['worst_gap_index']}"


def _title(audit: Audit) -> Text:
    counts = audit.counts
    judged = audit.judged[0] if audit.judged else {"vantage": "no vantage", "origins": []}
    endings = [
        f"{format_count(counts[name])} {name.replace('_', ' ')}"
        for name in _ENDINGS
        if counts[name]
    ]
    extra = [
        f"{format_count(counts[name])} {name}"
        for name in ("retried", "superseded", "rejects")
        if counts[name]
    ]
    traces = ", ".join(audit.traces[:4]) + (" ..." if len(audit.traces) > 4 else "")  # noqa: PLR2004
    text = Text(traces or "nothing", style="bold")
    text.append(
        f"\n{judged['vantage']}, times from {' or '.join(judged['origins']) or 'nowhere'}; "
        f"{format_count(counts['streams'])} streams; "
        + ", ".join(endings or ["no requests"])
        + (f" ({', '.join(extra)})" if extra else ""),
        style="not bold",
    )
    return text


def _print_findings(console: Console, findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark, style = _LEVELS[finding.level]
        line = Text(f"{mark} ", style=style)
        line.append(finding.says, style="bold" if finding.level == "stall" else "not dim")
        if finding.advice:
            line.append(f" ({finding.advice})", style="dim")
        console.print(line, soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in columns:
        left = column in ("", "request", "worst gap falls", "set by")
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
            _NAMES[row["statistic"]],
            f"≤ {format_duration(row['limit_ns'])}",
            *(format_count(row[k]) for k in ("met", "missed", "not_applicable", "unknown")),
            *_share(row),
            sources[row["statistic"]],
        )
    whole = audit.attainment
    table.add_row(
        "all of them",
        "",
        format_count(whole["good"]),
        format_count(whole["offered"] - whole["good"]),
        "",
        "",
        *_share(whole),
        f"good of {format_count(whole['offered'])} offered",
        style="bold",
    )
    return table


def _share(row: Row) -> tuple[str, str]:
    if row["attainment"] is None:
        return "-", "-"
    return (
        format_share(row["attainment"]),
        f"{format_share(row['low'])} to {format_share(row['high'])}",
    )


def _percentiles(audit: Audit) -> Table:
    table = _table("\npercentiles", "", "n", "left out", "p50", "p90", "p99", "max")
    for row in audit.percentiles:
        if not row["n"]:
            continue
        shown = (
            interval(row[f"{p}_low_ns"], row[f"{p}_high_ns"]) + ("*" if p in row["thin"] else "")
            for p in ("p50", "p90", "p99", "max")
        )
        table.add_row(
            f"{_NAMES[row['statistic']]}, per request",
            format_count(row["n"]),
            format_count(row["left_out"]),
            *shown,
        )
    gaps = audit.gaps
    if gaps["n"]:
        shown = (interval(gaps[f"{p}_ns"], gaps[f"{p}_ns"]) for p in ("p50", "p90", "p99", "max"))
        table.add_row(
            "all gaps, per gap", format_count(gaps["n"]), format_count(gaps["left_out"]), *shown
        )
    table.caption = "* rests on fewer than ten samples"
    table.caption_justify = "left"
    return table


def _print_stalls(console: Console, audit: Audit, *, all_stalls: bool) -> None:
    stalls = audit.hidden + audit.possible
    shown = stalls if all_stalls else stalls[:STALLS_SHOWN]
    table = _table(
        "\nhidden stalls", "request", "TTFT", "average TPOT", "worst gap", "worst gap falls", ""
    )
    for row in shown:
        notes = [] if row["stall"] == "hidden" else ["possible"]
        notes += ["handoff"] if row["is_handoff"] else []
        table.add_row(
            _name(audit, row),
            interval(row["ttft_ns"], row["ttft_ns"]),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            interval(row["worst_gap_low_ns"], row["worst_gap_high_ns"]),
            position(row),
            ", ".join(notes),
        )
    console.print(table)
    if len(shown) < len(stalls):
        console.print(
            f"... and {format_count(len(stalls) - len(shown))} more; --all-stalls lists them"
        )


def _ratios(audit: Audit) -> Table:
    table = _table(
        "\nlargest ratios of worst gap to average (no limits given; try --limit tpot=50ms "
        "--limit worst_gap=500ms)",
        "request",
        "average TPOT",
        "worst gap",
        "ratio",
        "worst gap falls",
    )
    for row in audit.ratios:
        table.add_row(
            _name(audit, row),
            interval(row["tpot_low_ns"], row["tpot_high_ns"]),
            format_duration(row["worst_gap_ns"]),
            "-" if row["ratio"] is None else f"{row['ratio']:.1f}",
            position(row),
        )
    return table


def _name(audit: Audit, row: Row) -> str:
    trace = f"{row['trace']}/" if len(audit.traces) > 1 else ""
    attempt = f" attempt {row['attempt']}" if row["attempt"] else ""
    choice = f" choice {row['choice']}" if row["choice"] else ""
    return f"{trace}{row['request_id']}{attempt}{choice}"
