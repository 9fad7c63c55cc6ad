"""Request traces of two simulators: splitwise-sim, and Vidur with its copies of Azure's traces.

Seconds from the start of the trace. The lengths are what a simulated answer shall have: no service
counted them. splitwise-sim's `request_type` is always 2, and it does not use `batch_size`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.cells import texts
from tokengap.adapters.shared.csv_rows import Csv, Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.workload import DataSet, Requests, arrivals, read_csv, tokens
from tokengap.adapters.source import Source

REQUEST: Final = "request_id"
APPLICATION: Final = "application_id"


class Names(NamedTuple):
    """What a simulator calls arrival and lengths."""

    arrival: str
    prompt: str
    output: str


SPLITWISE_SIM: Final = Names("arrival_timestamp", "prompt_size", "token_size")
VIDUR: Final = Names("arrived_at", "num_prefill_tokens", "num_decode_tokens")


class Splitwise:
    """Reads either simulator's CSV."""

    name = "splitwise"
    version = 1
    about = About(
        reads="splitwise-sim and Vidur request traces (CSV): arrivals and lengths only",
        vantage="engine",
        granularity="workload",
        clock="s from the start",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked="splitwise-sim @8f99e7dc, Vidur @7d475133",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """The columns of one of them."""
        sniffs = [wants(head, *names) for names in (SPLITWISE_SIM, VIDUR)]
        return min(sniffs, key=lambda sniff: len(sniff.missing))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request."""
        for source in sources:
            csv = Csv(source)
            names = VIDUR if VIDUR.arrival in csv.names else SPLITWISE_SIM
            columns = [*names, *(n for n in (REQUEST, APPLICATION) if n in csv.names)]
            data_set = DataSet(source, intake, clock_kind="monotonic", counts="requested")

            def requests(rows: Rows, sieve: Sieve, names: Names = names) -> Requests:
                return _requests(rows, sieve, names)

            yield from read_csv(csv, columns, data_set, intake, requests)


def _requests(rows: Rows, sieve: Sieve, names: Names) -> Requests:
    columns = rows.columns
    if REQUEST in columns:
        sieve.refuse(~texts(columns[REQUEST]).is_valid().to_numpy(False), "missing", REQUEST)
    return Requests(
        arrival_ns=arrivals(columns[names.arrival], "s", names.arrival, sieve),
        prompt_tokens=tokens(columns[names.prompt], names.prompt, sieve),
        output_tokens=tokens(columns[names.output], names.output, sieve),
        texts={"request_id": columns[REQUEST]} if REQUEST in columns else {},
        labels={"application": columns[APPLICATION]} if APPLICATION in columns else {},
    )
