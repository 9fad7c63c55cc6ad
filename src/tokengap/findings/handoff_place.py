"""Where the handoff from prefill to decoding sits, or that nobody said."""

from collections.abc import Iterator

from tokengap.findings.audit import Audit, Row
from tokengap.findings.interface import Finding
from tokengap.units import format_count, format_duration

_DECLARE = (
    "declare it with --last-prefill-token K: 0 if the decode side emits the first token, "
    "1 if the prefill side does; a colocated deployment has none"
)


def handoff_place(audit: Audit) -> Iterator[Finding]:
    """One finding per place, most requests first."""
    for row in audit.handoff:
        how = f"last prefill token {row['last_prefill_token']}, {row['handoff_source']}"
        requests = f"{format_count(row['requests'])} requests"
        if row["place"] == "unknown":
            yield Finding(
                "handoff_place", "unknown", f"Handoff: not known for {requests}.", _DECLARE
            )
        elif row["place"] == "none":
            says = f"Handoff: none in {requests} (the log says so)."
            yield Finding("handoff_place", "note", says)
        elif row["place"] == "inside_ttft":
            yield Finding(
                "handoff_place",
                "note",
                f"Handoff: inside TTFT for {requests} ({how}); no gap of the stream shows it.",
            )
        else:
            yield Finding("handoff_place", "note", _gap(row, requests, how))


def _gap(row: Row, requests: str, how: str) -> str:
    k = row["last_prefill_token"]
    place = "the first gap" if k == 1 else f"the gap after token {k}"
    text = f"Handoff: {place} of {requests} (boundary stream; {how})"
    if row["n"]:
        text += (
            f"; n {format_count(row['n'])}, median {format_duration(row['p50_ns'])}, "
            f"max {format_duration(row['max_ns'])}"
        )
        if row["other_gap_p50_ns"] is not None:
            text += f", against {format_duration(row['other_gap_p50_ns'])} for the other gaps"
        text += f"; the worst gap of its request in {format_count(row['is_worst_gap'])}"
    if row["not_observable"]:
        text += f"; not observable in {format_count(row['not_observable'])} (one burst)"
    return text + "."
