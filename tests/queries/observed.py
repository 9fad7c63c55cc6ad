"""What a row says of its stream, read by the definitions and not by the SQL."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from tests.queries.given import NOTHING_DECLARED, Row
from tokengap.store.connect import Declared

COUNTED_APART: Final = "usage"  # by the server, from what it sent
ORIGIN_AT: Final = {"client": "sent", "gateway": "received", "engine": "arrival"}

Number = int | Fraction


@dataclass(frozen=True)
class Bounds:
    """What is proven of a value: None as `low` is nothing, None as `high` is no limit."""

    low: Number | None = None
    high: Number | None = None
    reason: str | None = None

    @property
    def exact(self) -> Number | None:
        return self.low if self.reason is None else None


def exactly(value: Number) -> Bounds:
    return Bounds(value, value)


@dataclass(frozen=True)
class Observed:
    """One row of `stored_streams`, and what the user declared."""

    row: Row
    declared: Declared = NOTHING_DECLARED

    def __getitem__(self, column: str) -> Any:
        return self.row.get(column)

    @property
    def vantage(self) -> str:
        vantage: str = self["vantage"] or self.declared.vantage or "client"
        return vantage

    @property
    def part(self) -> str:
        """Whole, or the half of the request that the one worker in an engine's row did."""
        prefill, decode = self["prefill_worker"], self["decode_worker"]
        if self.vantage != "engine" or self["handoff_source"] != "log":
            return "whole"
        if prefill is not None and decode is None:
            return "prefill"
        return "decode" if decode is not None and prefill is None else "whole"

    @property
    def origin(self) -> str:
        return self.declared.origin or ORIGIN_AT[self.vantage]

    @property
    def origin_ns(self) -> int | None:
        """A decode half's arrival is not the request's."""
        if self.origin == "arrival" and self.part == "decode":
            return None
        origin: int | None = self[f"{self.origin}_ns"]
        return origin

    @property
    def handoff(self) -> tuple[int | None, str | None]:
        """k and how it is known: the log wins over a declaration, and so does `none`."""
        k, source = self["last_prefill_token"], self["handoff_source"]
        if source is not None:
            return k, source
        if k is not None:
            return k, "log"
        k = self.declared.last_prefill_token
        return k, None if k is None else "declared"

    @cached_property
    def times(self) -> list[int] | None:
        """t(1)..t(m); None where the deliveries are not known."""
        if self["gaps_ns"] is None:
            return None
        if self["first_token_ns"] is None:
            return []
        return list(accumulate(self["gaps_ns"], initial=self["first_token_ns"]))

    @property
    def gaps(self) -> list[int]:
        return self["gaps_ns"] or []

    @property
    def first_ns(self) -> int | None:
        first: int | None = self["first_token_ns"]
        return first

    @property
    def last_ns(self) -> int | None:
        return self.times[-1] if self.times else self["last_token_ns"]

    @property
    def span_ns(self) -> int | None:
        if self.first_ns is None or self.last_ns is None:
            return None
        return self.last_ns - self.first_ns

    @property
    def ended(self) -> bool:
        """Without completing."""
        return bool(self["status"] != "completed")

    def noted(self, note: str) -> bool:
        return note in self["quality"]

    @property
    def lost(self) -> bool:
        """Deliveries are missing: the log says so, or tokens were counted and none was seen."""
        unseen = self.times == [] and (self["output_tokens"] or 0) > 0
        return self.noted("events_lost") or unseen

    @property
    def backwards(self) -> bool:
        return any(gap < 0 for gap in self.gaps) or (self.span_ns or 0) < 0

    @property
    def unbegun(self) -> bool:
        """Nothing in the row speaks of a token."""
        return self.first_ns is None and self.last_ns is None and not self["output_tokens"]

    @cached_property
    def tokens(self) -> int | None:
        """N; None if unknown, less than what was seen, or counted from what was not lost."""
        stated: int | None = self["output_tokens"]
        counted_apart = self["token_count_source"] == COUNTED_APART
        if self.lost and not counted_apart:
            return None
        if stated is None:
            return 0 if self.times == [] else None
        seen = len(self.times) if self.times is not None else int(not self.unbegun)
        return stated if stated >= seen else None

    @cached_property
    def split(self) -> list[int] | None:
        """c(1)..c(m), where all of them are known."""
        if self["token_counts"] is not None:
            return list(self["token_counts"])
        if self.times and len(self.times) == self.tokens:
            return [1] * self.tokens
        if self.times and len(self.times) == 1 and self.tokens and self.handoff[0] != 1:
            return [self.tokens]
        return None

    @property
    def first_tokens(self) -> int | None:
        """c(1): k = 1 also says that it is one."""
        if self.split is not None:
            return self.split[0]
        return 1 if self.handoff[0] == 1 else None

    @property
    def open_wait_ns(self) -> int | None:
        """How long the user had waited for the next token when the stream ended."""
        close_ns, last_ns = self["stream_close_ns"], self.last_ns
        if not self.ended or close_ns is None or last_ns is None:
            return None
        return int(close_ns - last_ns)


def first_of(*reasons: tuple[str, bool]) -> str | None:
    """The first reason that holds."""
    return next((reason for reason, holds in reasons if holds), None)


def difference(end_ns: int | None, start_ns: int | None) -> int | None:
    return None if end_ns is None or start_ns is None else end_ns - start_ns
