"""Ollama's streamed answers, as its API sends them: JSON lines of /api/generate or /api/chat.

Every line has `created_at`, wall time at which Ollama's server had the chunk from its runner; the
server is an API frontend, so the vantage is `gateway`. Lines name no request: one with
`done: true` ends the answer, and answers of two models may be mixed, those of one may not. An
answer that came whole is one line.

The last line has durations of the monotonic clock. `total_duration` ends as that line is made, so
the answer's beginning could be worked out from it, but on another clock: if the wall clock was set
meanwhile it would be wrong, and nothing tells. TTFT is therefore reported, and no origin stored.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.formats.ollama.answers import Answers, Found
from tokengap.adapters.formats.ollama.entry import Entry, end_columns, line_columns
from tokengap.adapters.formats.ollama.rows import rows
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_groups
from tokengap.adapters.shared.gathered import Gathering
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import RowBatches
from tokengap.adapters.source import Source

EXPECTED: Final = "lines that Ollama's /api/generate or /api/chat sent"


class Ollama:
    """Reads stored answers of Ollama."""

    name = "ollama"
    version = 1
    about = About(
        reads="Ollama /api/generate and /api/chat answers, JSONL",
        vantage="gateway (Ollama's server)",
        granularity="chunk; token where counts prove it",
        clock="wall ns; durations monotonic",
        ttft="no (reported, on two clocks)",
        worst_gap="yes",
        handoff="no",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a line."""
        return wants(head, "model", "created_at", "done", "response|message")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per answer."""
        for source in sources:
            yield from _batches(source, intake)


def _batches(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    """Yield the answers as they end."""
    source_id, answers, gathering = intake.source_id(source), Answers(), Gathering()
    batches = RowBatches(source_id, intake.trace)

    def rows_of(found: Found, ends: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        ended = gathering.take(found.ended)
        if ended is not None:
            begins = ended["number"].to_numpy()[ended.firsts]
            lost = answers.lost(begins, found.ends)
            last = pa.array(found.rows, pa.int64())
            told = {name: column.take(last) for name, column in ends.items()}
            yield batches.batch(rows(ended, found, told, source_id, lost))

    ends: dict[str, pa.Array] = {}
    records = BulkRecords(Entry, Entry)
    for entries in read_groups(source, intake, read_pieces(source, EXPECTED), records):
        is_error = np.array([error is not None for error in entries.others("error")], bool)
        lines, usable = line_columns(entries, is_error), entries.sieve.good
        ends = end_columns(entries)
        found = answers.assign(entries, usable, is_error)
        gathering.add(lines, found.answers)
        yield from rows_of(found, ends)
    yield from rows_of(answers.rest(), ends)
