"""llama.cpp server answers with `timings`: bodies, or chunks of streams, JSON or JSONL.

Timings are durations of the server's monotonic clock: each answer stands on a clock of its own,
which begins when its prompt began to be processed. The wait before that is not known, so TTFT is
not either. The first token is made when `prompt_ms` is over; `predicted_ms` runs from there. With
`timings_per_token` every chunk has the totals so far, and their differences are the gaps at the
engine. Else only the end of an answer has them, and no gap is known. `prompt_n` leaves cached
tokens out. Values are null or NaN where a count is 0.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.llamacpp.answers import Answers, Found
from tokengap.adapters.formats.llamacpp.chunk import Chunk, chunk_columns
from tokengap.adapters.formats.llamacpp.rows import rows
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.column_reader import read_groups
from tokengap.adapters.shared.gathered import Gathering
from tokengap.adapters.shared.record_files import read_pieces
from tokengap.adapters.shared.row_batches import RowBatches
from tokengap.adapters.source import Source

EXPECTED: Final = "answers of llama.cpp's server, which have `timings`"


class Llamacpp:
    """Reads stored answers of llama.cpp's server."""

    name = "llamacpp"
    version = 1
    about = About(
        reads="llama.cpp server answers with `timings`, JSON or JSONL",
        vantage="engine",
        granularity="chunk; token where counts prove it; aggregate without timings_per_token",
        clock="durations in ms",
        ttft="no",
        worst_gap="yes, with timings_per_token; else bounds",
        handoff="no",
        checked=FROM_DOCUMENTATION,
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """An answer, and llama.cpp's timings somewhere in it."""
        wanted = ("timings", "prompt_ms", "predicted_ms")
        missing = tuple(name for name in wanted if f'"{name}"'.encode() not in head.data)
        answers = head.keys & {"choices", "content", "timings"}
        return Sniff(("choices|content|timings", *wanted), missing if answers else wanted)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per answer and choice."""
        for source in sources:
            yield from _batches(source, intake)


def _batches(source: Source, intake: Intake) -> Iterator[pa.RecordBatch]:
    """Yield each answer when another begins after its end, and the rest at the file's end."""
    source_id, answers, gathering = intake.source_id(source), Answers(source, intake), Gathering()
    batches = RowBatches(source_id, intake.trace)

    def rows_of(found: Found) -> Iterator[pa.RecordBatch]:
        ended = gathering.take(found.ended)
        if ended is not None:
            begins = ended["number"].to_numpy()[ended.firsts]
            yield batches.batch(rows(ended, source_id, answers.lost(begins, found.ends)))

    records = BulkRecords(Chunk, Chunk, non_finite=True)
    for chunks in read_groups(source, intake, read_pieces(source, EXPECTED), records):
        columns = chunk_columns(chunks)
        found = answers.assign(chunks, columns)
        grew = np.zeros(len(chunks), bool)
        grew[found.grew] = True
        timed = pc.and_(columns["timed"], pa.array(chunks.sieve.good))
        gathering.add({**columns, "timed": timed, "grew": pa.array(grew)}, found.answers)
        yield from rows_of(found)
    yield from rows_of(answers.rest())
