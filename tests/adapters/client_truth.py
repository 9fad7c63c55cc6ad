"""What the server did in the sample runs of benchmark clients, token by token.

A small server emitted tokens on a plan and logged each one on CLOCK_MONOTONIC as it was written to
the socket. Tokens written together share one stamp. It also saw the warm-up and probe requests that
a tool does not report.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.adapters.reading import records

DONE: Final = ("ok", "ok_nonstream")


@dataclass(frozen=True)
class Truth:
    """One request as the server saw it; `events` holds every SSE event, tokens or not."""

    request: int
    sse_id: str
    x_request_id: str | None
    outcome: str
    prompt_tokens: int
    received_ns: int
    wall_ahead_ns: int
    emitted_ns: list[int]
    emitted_wall_ns: list[int]
    events: list[dict[str, Any]]

    @property
    def first_word(self) -> str:
        """The output's first word, for tools that keep text and no id."""
        return f" w{self.request % 1000:04d}"

    @property
    def done(self) -> bool:
        return self.outcome in DONE

    @property
    def tokens(self) -> int:
        return len(self.emitted_ns)

    @property
    def ttft_ns(self) -> int:
        return self.emitted_ns[0] - self.received_ns

    @property
    def e2e_ns(self) -> int:
        return self.emitted_ns[-1] - self.received_ns

    @property
    def tpot_ns(self) -> float:
        """Over the tokens after those written first."""
        after_first = self.tokens - self.emitted_ns.count(self.emitted_ns[0])
        return (self.emitted_ns[-1] - self.emitted_ns[0]) / after_first

    @property
    def gaps_ns(self) -> list[int]:
        """One per token; 0 between tokens written together."""
        return [later - earlier for earlier, later in pairwise(self.emitted_ns)]

    @property
    def worst_gap_ns(self) -> int:
        return max(self.gaps_ns)

    def event_ns(self, kind: str) -> int | None:
        """When the last event of this kind was written: role, finish, usage, error, done."""
        found = [event["mono_ns"] for event in self.events if event["kind"] == kind]
        return found[-1] if found else None


def truths(path: Path) -> list[Truth]:
    """Every request in a `truth.jsonl.gz`, in the order of the file."""
    return [
        Truth(
            row["req"],
            row["id"],
            row["client_headers"].get("x-request-id"),
            row["outcome"],
            row["prompt_tokens"],
            row["recv_mono_ns"],
            row["recv_wall_ns"] - row["recv_mono_ns"],
            row["token_emit_mono_ns"],
            row["token_emit_wall_ns"],
            row["events"],
        )
        for row in records(path)
    ]


def by_x_request_id(path: Path) -> dict[str, Truth]:
    """By the request id that the client sent, for the requests that had one."""
    return _by(lambda truth: truth.x_request_id, truths(path))


def by_sse_id(path: Path) -> dict[str, Truth]:
    """By the `id` in the server's events, which is also its `X-Request-Id` response header."""
    return _by(lambda truth: truth.sse_id, truths(path))


def by_first_word(path: Path) -> dict[str, Truth]:
    """By the first word of the output, with the space before it."""
    return _by(lambda truth: truth.first_word, truths(path))


def _by(key: Callable[[Truth], str | None], found: Iterable[Truth]) -> dict[str, Truth]:
    named = [(name, truth) for truth in found if (name := key(truth)) is not None]
    joined = dict(named)
    assert len(joined) == len(named), "two requests of one run have the same name"
    return joined
