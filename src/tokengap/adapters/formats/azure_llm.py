"""Azure's LLM inference traces: when requests reached a service, and how long they were.

The times are wall clock, to 100 ns (2023), 1 us (2024) or 1 ms (2025). Those of 2023 name no zone;
they are taken to be UTC like the later ones. No row has an id: a request is called after its line.
The multimodal trace of 2025 counts images, kept as the label `images`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.cells import ISO
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests, arrivals, read_csv, tokens
from tokengap.adapters.source import Source

ARRIVAL: Final = "TIMESTAMP"
PROMPT: Final = "ContextTokens"
OUTPUT: Final = "GeneratedTokens"
IMAGES: Final = "NumImages"


class AzureLlm:
    """Reads the CSV files of Azure's public data set."""

    name = "azure-llm"
    version = 1
    about = About(
        reads="Azure LLM inference traces 2023, 2024, 2025 (CSV): arrivals and lengths only",
        vantage="engine",
        granularity="workload",
        clock="wall, to 100 ns; without a zone taken as UTC",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked="AzurePublicDataset @b469a113 (2023); 2024 and 2025 from documentation",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Its three columns."""
        return wants(head, ARRIVAL, PROMPT, OUTPUT)

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            csv = Csv(source)
            columns = [ARRIVAL, PROMPT, OUTPUT] + [IMAGES] * (IMAGES in csv.names)
            data_set = DataSet(source, intake, clock_kind="wall")
            yield from read_csv(csv, columns, data_set, intake, _requests)


def _requests(rows: Rows, sieve: Sieve) -> Requests:
    columns = rows.columns
    return Requests(
        arrival_ns=arrivals(columns[ARRIVAL], ISO, ARRIVAL, sieve),
        prompt_tokens=tokens(columns[PROMPT], PROMPT, sieve),
        output_tokens=tokens(columns[OUTPUT], OUTPUT, sieve),
        labels={"images": columns[IMAGES]} if IMAGES in columns else {},
    )
