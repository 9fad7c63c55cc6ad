"""What both schemas say, with the rules that go for both."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from tokengap.adapters.rows import Stream, reported
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


def ending(error: str | None) -> tuple[str, str]:
    """Status and error kind by the text of the exception that ended a request."""
    text = error or "error"
    if found := _HTTP.search(text):
        return status_of_http(int(found[1])), f"http_{found[1]}"
    if _ANSWERED_ERROR in text:
        return "failed", IN_BAND
    kind = error_kind(text)
    return status_of_exception(kind), kind


def fill_times(
    stream: Stream, first_ns: int | None, last_ns: int | None, events: int | None
) -> None:
    """Fill in what is known of the deliveries, `events` of them if that is logged.

    All are known where there are none, one or two; of more, the first and the last.
    """
    if first_ns is None:
        stream.times_ns = []
    elif first_ns == last_ns:
        stream.times_ns = [first_ns]
    elif events == _FIRST_AND_LAST and last_ns is not None:
        stream.times_ns = [first_ns, last_ns]
    else:
        stream.first_ns, stream.last_token_ns = first_ns, last_ns


def fill_reported(stream: Stream, values: Iterable[tuple[str, int | None, str]]) -> None:
    """Keep the tool's own numbers, each with its formula, but for those it does not have."""
    kept = [reported(metric, ns, formula) for metric, ns, formula in values if ns is not None]
    stream.reported = kept or None
