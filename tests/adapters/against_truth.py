"""How far a client's rows are from what the server did."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from tests.adapters.client_truth import Truth
from tests.adapters.reading import Row

MS = 1_000_000
TPOT_LIMIT_NS = 20 * MS


@dataclass
class Errors:
    """Reported less true, in ms, one per completed request; and which have hidden stalls."""

    ttft: list[float] = field(default_factory=list)
    tpot: list[float] = field(default_factory=list)
    worst_gap: list[float] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    truly_hidden: set[str] = field(default_factory=set)

    def medians(self, digits: int) -> tuple[float, ...]:
        return tuple(
            round(median(found), digits)
            for found in (self.ttft, self.tpot, self.worst_gap)
            if found
        )


def errors(pairs: Iterable[tuple[Row, Truth]], gap_limit_ns: int) -> Errors:
    """A hidden stall keeps its average within 20 ms and has one gap over `gap_limit_ns`."""
    found = Errors()
    for row, truth in pairs:
        if row["status"] != "completed":
            continue
        tpot_ns = span_ns(row) / (truth.tokens - 1)
        if row["sent_ns"] is not None:
            found.ttft.append((row["first_token_ns"] - row["sent_ns"] - truth.ttft_ns) / MS)
        found.tpot.append((tpot_ns - truth.tpot_ns) / MS)
        if truth.tpot_ns <= TPOT_LIMIT_NS and truth.worst_gap_ns > gap_limit_ns:
            found.truly_hidden.add(row["request_id"])
        if row["gaps_ns"] is not None:
            worst_ns = max(row["gaps_ns"])
            found.worst_gap.append((worst_ns - truth.worst_gap_ns) / MS)
            if tpot_ns <= TPOT_LIMIT_NS and worst_ns > gap_limit_ns:
                found.hidden.add(row["request_id"])
    return found


def span_ns(row: Row) -> int:
    """From the first token to the last."""
    if row["gaps_ns"] is not None:
        return sum(row["gaps_ns"])
    found: int = row["last_token_ns"] - row["first_token_ns"]
    return found
