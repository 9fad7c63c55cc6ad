"""BurstGPT: requests of a campus to ChatGPT and GPT-4, by arrival and length.

Seconds from midnight of the trace's first day, in a local zone that is not named. `Elapsed time`,
where a file has it, lasts from submission to the whole answer, in whole seconds: it is kept as the
tool's own `e2e`. A row whose response has 0 tokens is a failed request; a prompt of 0 tokens
beside it was not counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools
from tokengap.adapters.interface import FROM_DOCUMENTATION, About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.cells import times
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.nested import Reported
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests, arrivals, read_csv, tokens
from tokengap.adapters.source import Source

ARRIVAL: Final = "Timestamp"
PROMPT: Final = "Request tokens"
OUTPUT: Final = "Response tokens"
MODEL: Final = "Model"
LABELS: Final = {"Log Type": "log_type", "Session ID": "session", "SessionID": "session"}
ELAPSED: Final = "Elapsed time"
FORMULA: Final = "burstgpt: whole answer - submission, whole seconds"


class BurstGpt:
    """Reads the CSV files of BurstGPT, with and without sessions."""

    name = "burstgpt"
    version = 1
    about = About(
        reads="BurstGPT_*.csv (HPMLL/BurstGPT): arrivals and lengths only",
        vantage="engine",
        granularity="workload",
        clock="s from the first midnight",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked=FROM_DOCUMENTATION + " (BurstGPT @e92f533b)",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Columns that all its releases have."""
        return wants(head, ARRIVAL, PROMPT, OUTPUT, MODEL)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            csv = Csv(source)
            further = [name for name in (ELAPSED, *LABELS) if name in csv.names]
            columns = [ARRIVAL, PROMPT, OUTPUT, MODEL, *further]
            data_set = DataSet(source, intake, clock_kind="monotonic")
            yield from read_csv(csv, columns, data_set, intake, _requests)


def _requests(rows: Rows, sieve: Sieve) -> Requests:
    columns = rows.columns
    prompt = tokens(columns[PROMPT], PROMPT, sieve)
    output = tokens(columns[OUTPUT], OUTPUT, sieve)
    failed = output.there & (output.values == 0)
    uncounted = failed & prompt.there & (prompt.values == 0)
    return Requests(
        arrival_ns=arrivals(columns[ARRIVAL], "s", ARRIVAL, sieve),
        prompt_tokens=prompt.without(uncounted),
        output_tokens=output,
        texts={
            "model": columns[MODEL],
            "status": pc.if_else(pa.array(failed), "failed", "completed"),
        },
        labels={LABELS[name]: columns[name] for name in LABELS if name in columns},
        reported=_elapsed(columns, sieve, failed),
        notes={"sentinel_dropped": uncounted},
    )


def _elapsed(columns: Mapping[str, pa.Array], sieve: Sieve, failed: Bools) -> list[Reported]:
    """How long whole answers took; a failed request had none."""
    if ELAPSED not in columns:
        return []
    cells = times(columns[ELAPSED], "s")
    sieve.checked(cells, "time in s", ELAPSED, columns[ELAPSED], required=False)
    sieve.refuse(cells.values < 0, "a duration expected", ELAPSED, columns[ELAPSED])
    return [Reported("e2e", FORMULA, cells.without(failed))]
