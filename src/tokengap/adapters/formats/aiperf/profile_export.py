"""AIPerf `profile_export.jsonl`: first-token time and gaps of every request, in wall time.

Failed and cancelled requests have no times here, and an error inside an answer cannot be seen at
all: `profile_export_raw.jsonl` of the same run tells more.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from tokengap.adapters.formats.aiperf.columns import SCHEMA, sound
from tokengap.adapters.formats.aiperf.record import RECORDS, Record
from tokengap.adapters.formats.aiperf.rows import batch
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.json_columns import JsonColumns
from tokengap.adapters.shared.threads import read_in_order
from tokengap.adapters.source import Block, Source

_COLUMNS: Final = JsonColumns(SCHEMA, sound, RECORDS, Record.fields)


class Aiperf:
    """Reads AIPerf's per-request metrics."""

    name = "aiperf"
    version = 1
    about = About(
        reads="AIPerf profile_export.jsonl",
        vantage="client",
        granularity="chunk",
        clock="wall ns and ms",
        ttft="yes",
        worst_gap="yes",
        handoff="stream, if declared",
        checked="AIPerf 0.13.0",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a metrics record."""
        return wants(head, "metadata", "metrics")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            yield from read_in_order(partial(_read, source), source.blocks(), intake)


def _read(source: Source, block: Block, intake: Intake) -> Iterator[pa.RecordBatch]:
    source_id = intake.source_id(source)
    for found in _COLUMNS.read(source, block, intake):
        yield batch(found.rows, found.numbers, source_id, intake.trace)
