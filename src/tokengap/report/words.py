"""The words and numbers that the text report and the page share."""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from tokengap.findings import Audit
from tokengap.findings.audit import Row
from tokengap.findings.inexact import WHY
from tokengap.schema import STATUSES
from tokengap.units import format_count, format_duration, format_share

ID_SHOWN: Final = 48  # characters
TRY_LIMITS: Final = "--limit tpot=50ms --limit worst_gap=500ms"
THIN: Final = "* rests on fewer than ten samples"
NAMES: Final = {
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
PERCENTILES: Final = ("p50", "p90", "p99", "max")
_ASIDES: Final = ("retried", "superseded", "rejects")
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def name_of(audit: Audit, statistic: str) -> str:
    """What a statistic is called; a handoff never without its boundary."""
    boundary = f", {audit.judged_handoff}" if statistic == "handoff_gap" else ""
    return NAMES[statistic] + boundary


def plain(text: str) -> str:
    r"""Text of a log without what a terminal or a browser would obey: controls, reversed writing.

    >>> plain("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join("\ufffd" if unicodedata.category(c) in _UNPRINTABLE else c for c in text)


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


def share(row: Row) -> tuple[str, str]:
    """An attainment and its 95 % interval."""
    if row["attainment"] is None:
        return "-", "-"
    return (
        format_share(row["attainment"]),
        f"{format_share(row['low'])} to {format_share(row['high'])}",
    )


def binding(audit: Audit) -> str | None:
    """Which objective is the binding one, and how many requests miss it alone."""
    row = audit.binding
    if row is None:
        return None
    objective = f"{name_of(audit, row['statistic'])} ≤ {format_duration(row['limit_ns'])}"
    alone = f"{format_count(row['requests'])} of {format_count(row['not_good'])}"
    tied = " and ".join(name_of(audit, statistic) for statistic in row["tied"])
    return f"Binding: {objective}, alone missed by {alone} not good" + (
        f", as often as {tied}" if tied else ""
    )


def percentiles(row: Row) -> list[str]:
    """Those of one statistic, each with a star if it is thin."""
    return [
        interval(row[f"{p}_low_ns"], row[f"{p}_high_ns"]) + ("*" if p in row["thin"] else "")
        for p in PERCENTILES
    ]


def gap_percentiles(gaps: Row) -> list[str]:
    """Those of all gaps pooled."""
    return [interval(gaps[f"{p}_ns"], gaps[f"{p}_ns"]) for p in PERCENTILES]


def stall_notes(audit: Audit, row: Row) -> str:
    """What else is known of a hidden stall."""
    notes = [] if row["stall"] == "hidden" else ["possible"]
    notes += [cause(audit, row)] if row["cause"] else []
    return ", ".join(notes)


def cause(audit: Audit, row: Row) -> str:
    """Why a gap was long, with the evidence; a row of `hidden_stalls` or `gap_causes`."""
    name = str(row["cause"]).replace("_", " ")
    if row["by_request_id"] is not None:
        tokens = row["by_prompt_tokens"]
        of = "" if tokens is None else f", {format_count(tokens)} prompt tokens"
        trace = f"{row['by_trace']}/" if len(audit.traces) > 1 else ""
        name += f" by {shortened(plain(trace + row['by_request_id']))}{of}"
    elif row["cause"] == "shared_pause":
        stopped, active = (format_count(row[f"{k}_streams"]) for k in ("stopped", "active"))
        name += f" of {stopped} in {active} streams"
    return f"{name} ({row['basis']})" if row["basis"] in {"inferred", "declared"} else name


def shortened(text: str) -> str:
    """An id that fits in a line."""
    return text if len(text) <= ID_SHOWN else text[: ID_SHOWN - 1] + "…"


def request_name(audit: Audit, row: Row) -> str:
    """A request, its trace where there are several, its attempt and choice where not the first."""
    trace = f"{row['trace']}/" if len(audit.traces) > 1 else ""
    attempt = f" attempt {row['attempt']}" if row["attempt"] else ""
    choice = f" choice {row['choice']}" if row["choice"] else ""
    return plain(f"{trace}{row['request_id']}{attempt}{choice}")


def trace_names(traces: Sequence[str], shown: int) -> str:
    """The first traces, and how many more there are."""
    names = plain(", ".join(traces[:shown]))
    more = len(traces) - shown
    return f"{names} and {format_count(more)} more" if more > 0 else names or "nothing"


def boundary(audit: Audit) -> str:
    """Where times were stamped and what they count from."""
    judged = audit.judged[0] if audit.judged else {"vantage": "no vantage", "origins": []}
    return f"{judged['vantage']}, times from {' or '.join(judged['origins']) or 'nowhere'}"


def endings(counts: Row) -> list[str]:
    """How judged requests ended, such as `60 completed`; only what occurred."""
    return _counted(counts, STATUSES)


def asides(counts: Row) -> list[str]:
    """What was read and does not count as a judged request."""
    return _counted(counts, _ASIDES)


def _counted(counts: Row, names: tuple[str, ...]) -> list[str]:
    return [
        f"{format_count(counts[name])} {name.replace('_', ' ')}" for name in names if counts[name]
    ]


def why_nothing(audit: Audit, reasons: list[Row]) -> str:
    """Why completed requests have no gaps to show; `reasons` are rows of `unplaced_requests`."""
    if reasons:
        without = format_count(sum(row["requests"] for row in reasons))
        completed = format_count(audit.counts["completed"])
        causes = (
            f"{WHY.get(row['reason'], row['reason'].replace('_', ' '))} "
            f"({format_count(row['requests'])})"
            for row in reasons
        )
        return (
            f"Without a gap to show: {without} of {completed} completed requests; "
            f"{'; '.join(causes)}."
        )
    if not audit.counts["streams"]:
        return "Nothing was read."
    ended = endings(audit.counts)
    if not ended:
        return "No request belongs to the judged window."
    return f"No request completed ({', '.join(ended)}), and only completed ones are shown here."


def window(audit: Audit) -> str:
    """The length of the judged span of time, and what makes a request belong to it."""
    start, end = audit.window["start_ns"], audit.window["end_ns"]
    if start is None or end is None:
        clocks = audit.window["clocks"]
        return f"no window: {clocks} clocks" if clocks > 1 else "no window: times are not logged"
    return f"window {format_duration(end - start)}, {audit.window['rule'].replace('_', ' ')}"


def dates(audit: Audit) -> str | None:
    """The judged span in UTC, for times of wall clocks; None without a span."""
    start, end = audit.window["start_ns"], audit.window["end_ns"]
    return None if start is None or end is None else f"{_date(start)} to {_date(end)} UTC"


def _date(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, UTC):%Y-%m-%d %H:%M:%S}"
