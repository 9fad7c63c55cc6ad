"""What the server did in the AIPerf samples, token by token, on the client's clock."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.adapters.reading import SAMPLES, records


@dataclass(frozen=True)
class Truth:
    outcome: str
    emitted_ns: list[int]
    events: list[dict[str, Any]]
    wall_ahead_ns: int

    @property
    def tpot_ns(self) -> float:
        return (self.emitted_ns[-1] - self.emitted_ns[0]) / (len(self.emitted_ns) - 1)

    @property
    def worst_gap_ns(self) -> int:
        return max(later - earlier for earlier, later in pairwise(self.emitted_ns))


def truth_of(run: str) -> dict[str, Truth]:
    """By the request id the client sent."""
    return {
        row["client_headers"]["x-request-id"]: Truth(
            row["outcome"],
            row["token_emit_mono_ns"],
            row["events"],
            row["recv_wall_ns"] - row["recv_mono_ns"],
        )
        for row in records(SAMPLES / "aiperf-raw" / run / "truth.jsonl.gz")
    }
