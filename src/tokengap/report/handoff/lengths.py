"""Worst gap and average against response length, `tokengap.handoff.lengths/1`.

Fields are only added to its JSON.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from tokengap.findings.audit import Row, rows
from tokengap.handoff import Answer, Handoff, Limits, assumptions
from tokengap.handoff.lengths import at_length, hidden_from_tokens
from tokengap.report.document import Document
from tokengap.report.numbers import columns, number
from tokengap.units import format_count, format_ms, format_share

SCHEMA: Final = "tokengap.handoff.lengths/1"
LENGTHS_SHOWN: Final = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Responses:
    """Lengths of a trace's completed responses: each length, and how many have it."""

    counts: Sequence[tuple[int, int]]
    unknown: int
    """Responses of which no log says how many tokens they have."""

    @property
    def known(self) -> int:
        """Responses of known length."""
        return sum(count for _, count in self.counts)

    @property
    def longest_tokens(self) -> int:
        """Tokens of the longest; 0 without any."""
        return max((tokens for tokens, _ in self.counts), default=0)

    def at_least(self, tokens: int) -> int:
        """Responses of so many tokens or more."""
        return sum(count for length, count in self.counts if length >= tokens)


def response_lengths(con: duckdb.DuckDBPyConnection) -> Responses:
    """Lengths of completed judged responses, from a connection with the library bound."""
    found = rows(con, "FROM response_lengths")
    known = [(row["output_tokens"], row["requests"]) for row in found if row["output_tokens"]]
    unknown = sum(row["requests"] for row in found if not row["output_tokens"])
    return Responses(known, unknown)


@dataclass(frozen=True)
class LengthsReport:
    """A handoff, the limits it is judged by, and the lengths of a trace if there is one."""

    handoff: Handoff
    limits: Limits
    responses: Responses | None = None

    @property
    def hidden_from(self) -> Answer:
        """The shortest response whose average hides the pause."""
        return hidden_from_tokens(self.handoff, self.limits)

    @property
    def hidden_responses(self) -> int | None:
        """Responses of the trace that are long enough; None without a trace."""
        if self.responses is None:
            return None
        least = self.hidden_from.value
        return 0 if least is None else self.responses.at_least(int(least))

    @property
    def lengths(self) -> list[int]:
        """Lengths that the table shows: round ones, the first hidden one, the trace's longest."""
        least = self.hidden_from.value
        asked = set(LENGTHS_SHOWN) | ({int(least)} if least is not None else set())
        if self.responses is not None and self.responses.longest_tokens >= LENGTHS_SHOWN[0]:
            asked.add(self.responses.longest_tokens)
        return sorted(asked)


def lengths(report: LengthsReport) -> Document:
    """The lengths as text and JSON."""
    return Document(_record(report), _text(report))


def length_rows(report: LengthsReport, at: Sequence[int]) -> Iterator[Row]:
    """What responses of these lengths show."""
    for tokens in at:
        found = at_length(report.handoff, report.limits, tokens)
        row = {
            "output_tokens": tokens,
            "worst_gap_ns": number(found.worst_gap_ns),
            "tpot_ns": number(found.tpot_ns),
            "hidden": found.hidden,
        }
        if report.responses is not None:
            row["responses_as_long"] = report.responses.at_least(tokens)
        yield row


def _record(report: LengthsReport) -> dict[str, Any]:
    least = report.hidden_from
    record = {
        "schema": SCHEMA,
        "limits_ns": {
            "worst_gap": number(report.limits.worst_gap_ns),
            "tpot": number(report.limits.tpot_ns),
        },
        "hidden_from_tokens": number(least.value),
        "reason": least.reason,
        "lengths": list(length_rows(report, report.lengths)),
        "responses": None,
        "assumptions": assumptions(report.handoff),
    }
    if report.responses is not None:
        record["responses"] = {
            "known": report.responses.known,
            "unknown": report.responses.unknown,
            "hidden": report.hidden_responses,
            "hidden_share": _share(report),
        }
    return record


def _share(report: LengthsReport) -> float | None:
    if report.responses is None or not report.responses.known or report.hidden_responses is None:
        return None
    return report.hidden_responses / report.responses.known


def summary(report: LengthsReport) -> str:
    """From where on the average hides the pause, in words."""
    least = report.hidden_from
    if least.value is None:
        return f"No average hides the pause: {least.reason}."
    return (
        f"From {format_count(int(least.value))} tokens on, the average passes and the worst gap, "
        f"{format_ms(report.handoff.first_gap_ns)}, does not."
    )


def trace_line(report: LengthsReport) -> str | None:
    """What share of the trace's responses is that long; None without a trace."""
    if report.responses is None or report.hidden_responses is None:
        return None
    share = _share(report)
    if share is None:
        return "No log says how many tokens its responses have."
    known, unknown = report.responses.known, report.responses.unknown
    left = f"; {format_count(unknown)} of unknown length left out" if unknown else ""
    return (
        f"{format_count(report.hidden_responses)} of {format_count(known)} completed responses "
        f"({format_share(share)}) are as long{left}."
    )


def table_rows(report: LengthsReport) -> list[tuple[str, ...]]:
    """Length, worst gap, average, and what the average hides."""
    return [
        (
            format_count(row["output_tokens"]),
            format_ms(report.handoff.first_gap_ns),
            format_ms(at_length(report.handoff, report.limits, row["output_tokens"]).tpot_ns or 0),
            "hidden" if row["hidden"] else "",
        )
        for row in length_rows(report, report.lengths)
    ]


def _text(report: LengthsReport) -> str:
    head = ("output tokens", "worst gap", "average TPOT", "")
    lines = [columns([head, *table_rows(report)]), f"{summary(report)}\n"]
    if told := trace_line(report):
        lines[-1] += f"{told}\n"
    assumed = "".join(f"- {line}\n" for line in assumptions(report.handoff))
    return "\n".join([*lines, f"Assumed\n{assumed}"])
