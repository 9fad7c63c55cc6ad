"""What both schemas say, with the rules that go for both."""

import re
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Events, count_source_code
from tokengap.adapters.shared.columns import is_true
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import by_value
from tokengap.adapters.shared.outcomes import error_kind, status_of_exception, status_of_http

IN_BAND: Final = "in_band_error"
MEAN_GAP: Final = "guidellm: (last token - first token) / (output_tokens - 1)"

_HTTP: Final = re.compile(r"(?:Client|Server) error '(\d{3}) ")
_ANSWERED_ERROR: Final = "response returned an error"
_FIRST_AND_LAST: Final = 2


class Strategy(msgspec.Struct, frozen=True, gc=False):
    """How a benchmark made load."""

    type_: str | None = None
    rate: float | None = None
    streams: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """What tells it from the other benchmarks of the file."""
        found = {"strategy": self.type_, "rate": self.rate, "streams": self.streams}
        return {name: str(value) for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Run:
    """What holds for all requests of a benchmark: its trace, its clock, and how it made load."""

    trace: str
    clock: str
    strategy: Strategy
    model: str | None
    names: Names = field(default_factory=Names)

    def labels(self, requests: int) -> dict[str, pa.Array]:
        """What tells it from the other benchmarks of the file, for each of its requests."""
        return {name: pa.repeat(text, requests) for name, text in self.strategy.labels.items()}


def endings(errors: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Status and error kind by the text of the exception that ended a request."""
    texts = pc.if_else(pc.equal(errors, ""), "error", pc.fill_null(errors, "error"))
    statuses = by_value(texts, lambda text: _ending(text)[0])
    return statuses, by_value(texts, lambda text: _ending(text)[1])


def _ending(text: str) -> tuple[str, str]:
    if found := _HTTP.search(text):
        return status_of_http(int(found[1])), f"http_{found[1]}"
    if _ANSWERED_ERROR in text:
        return "failed", IN_BAND
    kind = error_kind(text)
    return status_of_exception(kind), kind


@dataclass(frozen=True)
class Answers:
    """Answers of requests: first and last token, how many there were, and whose count that is.

    events: deliveries, NULL if that is not logged. bodies: where an answer came as one.
    """

    first_ns: pa.Array
    last_ns: pa.Array
    tokens: pa.Array
    is_usage: pa.Array
    events: pa.Array | None = None
    bodies: pa.Array | None = None
    body_ns: pa.Array | None = None

    def delivered(self) -> Events:
        """What is known of the deliveries.

        All are known where there are none, one or two; of more, the first and the last.
        """
        rows = len(self.first_ns)
        bodies = np.zeros(rows, bool) if self.bodies is None else is_true(self.bodies)
        body_ns = pa.nulls(rows, pa.int64()) if self.body_ns is None else self.body_ns
        heads_ns = pc.if_else(pa.array(bodies), body_ns, self.first_ns)
        none = ~bodies & is_true(pc.is_null(self.first_ns))
        one = bodies & is_true(pc.is_valid(body_ns)) | is_true(
            pc.equal(self.first_ns, self.last_ns)
        )
        two = np.zeros(rows, bool)
        if self.events is not None:
            begun_and_ended = pc.and_(pc.is_valid(self.first_ns), pc.is_valid(self.last_ns))
            two = ~one & is_true(pc.and_(begun_and_ended, pc.equal(self.events, _FIRST_AND_LAST)))
        ends_ns = [pc.fill_null(ns, 0).to_numpy() for ns in (heads_ns, self.last_ns)]
        there = np.column_stack((one | two, two))
        times_ns = np.column_stack(ends_ns)[there]
        codes = [count_source_code(name) for name in ("usage", "events")]
        return Events(
            offsets=np.concatenate(([0], np.cumsum(there.sum(axis=1)))),
            times_ns=times_ns,
            counts=np.zeros(len(times_ns), np.int64),
            counts_source=np.full(rows, codes[1]),
            totals=pc.cast(pc.fill_null(self.tokens, -1), pa.int64()).to_numpy(),
            totals_source=np.where(is_true(self.is_usage), *codes),
            observed=none | one | two,
            streamed=~bodies,
        )
