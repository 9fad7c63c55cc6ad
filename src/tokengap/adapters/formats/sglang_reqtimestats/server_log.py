"""SGLang's `ReqTimeStats(...)` log lines (`--enable-request-time-stats-logging`), in a server log.

The scheduler writes one when a request is done: how long each step lasted, and when the first one
began. Lines may have any prefix. The other lines of a server log are no records of requests: they
are passed over and not counted.

The steps follow each other from `entry_time` on, which has only milliseconds; the durations have
10 us, and so have all differences. Placed are the steps up to the first whose length the line does
not tell: newer prefill servers leave out the wait for memory, and of a prefill that was tried again
only the last try is shown. `forward_duration` runs from the engine's first step to the request's
end and is no stage: on a prefill server the KV transfer is in it. So no line tells when the first
token came. SGLang writes 0.00 ms for a step one of whose ends was never stamped, and older versions
write 55 years: both are dropped.

A request that two servers share has a line in either log: two halves, joined by `bootstrap_room`.
The decode server's `transfer_duration` begins when it has room for the KV cache, most often before
the prefill is done: what is left of that is in it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from msgspec import inspect

from tokengap.adapters.formats.sglang_reqtimestats.line import Stats, stats_of
from tokengap.adapters.formats.sglang_reqtimestats.rows import stats_rows
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff
from tokengap.adapters.shared.bulk_records import Decoded
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.fields import Layout
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.record_files import Piece, pieces_of_lines
from tokengap.adapters.source import Source

_MARK: Final = re.compile(rb"Req ?Time ?Stats\(rid=")
_SWITCHED_ON: Final = b"enable_request_time_stats_logging=True"


class SglangReqTimeStats:
    """Reads the request time stats in SGLang's server logs."""

    name = "sglang-reqtimestats"
    version = 1
    about = About(
        reads="SGLang server log with ReqTimeStats lines",
        vantage="engine",
        granularity="aggregate",
        clock="wall s (some versions: monotonic), durations in ms",
        ttft="no",
        worst_gap="no",
        handoff="transfer, decode_wait",
        checked=f"{FROM_DOCUMENTATION} (SGLang 0.5.23)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Such a line among the first, or the server's arguments with these lines switched on."""
        found = _MARK.search(head.data) or _SWITCHED_ON in head.data
        wanted = ("a line with ReqTimeStats(rid=...)",)
        return Sniff(wanted, () if found else wanted)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per line of that kind."""
        for source in sources:
            make = partial(stats_rows, source_id=intake.source_id(source), names=Names())
            yield from read_columns(source, intake, pieces_of_lines(source), _Lines(), make)


class _Lines:
    """Reads the lines of that kind among those of a server log."""

    def __init__(self) -> None:
        self._layout = Layout(inspect.type_info(Stats))

    def decode(self, piece: Piece, source: Source, intake: Intake) -> Decoded:
        """Return what the lines of a piece say; those that cannot be used go to `intake`."""
        found: list[Stats] = []
        numbers: list[int] = []
        for line, data in piece.items() if _MARK.search(piece.text) else ():
            if _MARK.search(data):
                try:
                    found.append(stats_of(data.decode("utf-8", "replace")))
                except LineError as error:
                    intake.reject(source, line, error.reason, error.field, error.value)
                else:
                    numbers.append(number_of(line))
        return Decoded(self._layout.fields(found), np.array(numbers, np.int64))
