"""One budget as a page: the verdict, the terms drawn, what still passes, what is assumed."""

from typing import Final

from tokengap.report.banner import Banner, Tile
from tokengap.report.forms import assumed_note
from tokengap.report.handoff.budget import BudgetReport, passing_rows, seen_rows, term_rows
from tokengap.report.handoff.page import STATED, compose
from tokengap.report.handoff.terms_chart import PARTS, terms_chart, terms_rows
from tokengap.report.section import Key, Section, Table
from tokengap.report.whole import Report
from tokengap.units import format_bandwidth, format_bytes, format_count, format_ms

SAID: Final = {"ttft": "TTFT", "worst_gap": "the worst gap", "tpot": "the average TPOT"}


def budget_page(report: BudgetReport) -> Report:
    """The page of `handoff check`."""
    handoff = report.handoff
    size = format_bytes(int(handoff.cache_bytes))
    rate = format_bandwidth(handoff.link.bandwidth_bytes_per_s)
    sections = (_terms(report), _seen(report), _passing(report))
    return compose("check", f"{size} at {rate}", _banner(report), sections)


def _banner(report: BudgetReport) -> Banner:
    promises = report.promises.values()
    missed = [SAID[promise.name] for promise in promises if promise.verdict == "missed"]
    judged = any(promise.verdict is not None for promise in promises)
    tiles = [
        Tile(name, [value], [", ".join(filter(None, rest))])
        for name, value, *rest in seen_rows(report)
        if value != "-"
    ]
    if missed:
        return Banner(
            "missed", f"The cache does not fit: {' and '.join(missed)} missed.", [], tiles
        )
    if judged:
        return Banner("kept", "The cache fits: every promise is met.", [], tiles)
    return Banner("open", "No limits were given, so nothing is judged.", [], tiles)


def _terms(report: BudgetReport) -> Section:
    handoff = report.handoff
    rows = terms_rows(handoff, report.colocated_gap_ns)
    shares = {row["part"]: row["lasts"] for row in rows}
    hidden = f"{format_ms(handoff.overlap_ns)} of the transfer add no wait, and are not drawn."
    return Section(
        "handoff_check",
        "What the wait is made of",
        f"a response of {format_count(report.output_tokens)} tokens",
        STATED,
        legend=[Key(PARTS[part], part, lasts) for part, lasts in shares.items()],
        chart=terms_chart(rows, report.limits) if rows else None,
        data=rows,
        table=Table(("term", "value"), term_rows(handoff), ("term",)),
        notes=[hidden] if handoff.overlap_ns else [],
    )


def _seen(report: BudgetReport) -> Section:
    columns = ("", "value", "limit", "verdict", "headroom")
    table = Table(columns, seen_rows(report), ("", "limit", "verdict", "headroom"))
    return Section(
        "seen", "What a user sees", "", STATED, table=table, notes=[assumed_note(report.assumed)]
    )


def _passing(report: BudgetReport) -> Section:
    table = Table(("all else as stated", "last value that passes"), passing_rows(report), ())
    return Section("passing", "What still passes", "", STATED, table=table)
