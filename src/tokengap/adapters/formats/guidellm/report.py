"""The file: one JSON document with one or several benchmarks, each a run of its own.

GuideLLM keeps first and last token time and the number of tokens of a request; the timeline in its
own reports is interpolated. The worst gap is therefore not known, only that it is no shorter than
the mean and no longer than the whole. Stamps are wall seconds of the client's host.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import msgspec
import pyarrow as pa

from tokengap.adapters.formats.guidellm import v03, v08
from tokengap.adapters.formats.guidellm.facts import Run, Strategy
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.column_reader import read_columns
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.record_files import pieces_of
from tokengap.adapters.source import Source

_EXPECTED: Final = "GuideLLM's `benchmarks.json`"
_SIGNS: Final = (b'"guidellm_version"', b'"generative_benchmark"')


class Settings(msgspec.Struct, frozen=True, gc=False):
    """What a benchmark was told."""

    strategy: Strategy = Strategy()


class Requests(msgspec.Struct):
    """The requests of a benchmark by how they ended, which each also says itself."""

    successful: list[msgspec.Raw] | None = None
    errored: list[msgspec.Raw] | None = None
    incomplete: list[msgspec.Raw] | None = None

    @property
    def all(self) -> list[msgspec.Raw]:
        """Every record."""
        groups = (self.successful, self.errored, self.incomplete)
        return [raw for group in groups for raw in group or ()]


class Worker(msgspec.Struct, frozen=True, gc=False):
    """What load was put on."""

    backend_model: str | None = None


class Benchmark(msgspec.Struct):
    """One level of load.

    Its settings are under `config`; in the older schema under `args`, and the model apart.
    """

    requests: Requests
    config: Settings = Settings()
    args: Settings = Settings()
    worker: Worker = Worker()

    @property
    def strategy(self) -> Strategy:
        """How it made load."""
        return self.args.strategy if self.config.strategy == Strategy() else self.config.strategy


class Metadata(msgspec.Struct, gc=False):
    """The newer schema has it."""

    guidellm_version: str


class Report(msgspec.Struct):
    """The file."""

    benchmarks: list[Benchmark]
    metadata: Metadata | None = None


class Guidellm:
    """Reads GuideLLM's reports."""

    name = "guidellm"
    version = 1
    about = About(
        reads="GuideLLM benchmarks.json",
        vantage="client",
        granularity="aggregate",
        clock="wall s",
        ttft="yes",
        worst_gap="bounds",
        handoff="no",
        checked="GuideLLM 0.8.1 and 0.3.1",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Benchmarks, with the tool's version or type beside them."""
        outer = wants(head, "metadata|benchmarks")
        signs = ("guidellm_version or type_ generative_benchmark",)
        signed = any(sign in head.data for sign in _SIGNS)
        return Sniff(outer.wanted + signs, outer.missing + (() if signed else signs))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request, one trace per benchmark; InputError if the file is no report."""
        for source in sources:
            report = document(source, Report, _EXPECTED)
            found = enumerate(raw for each in report.benchmarks for raw in each.requests.all)
            for number, benchmark in enumerate(report.benchmarks, 1):
                suffix = f".{number}" if len(report.benchmarks) > 1 else ""
                run = Run(
                    f"{intake.trace}{suffix}",
                    intake.source_id(source),
                    benchmark.strategy,
                    benchmark.worker.backend_model,
                )
                own = islice(found, len(benchmark.requests.all))
                pieces = pieces_of((index, bytes(raw)) for index, raw in own)
                schema = v03 if report.metadata is None else v08
                make = partial(schema.rows, run=run)
                yield from read_columns(
                    source, intake, pieces, schema.records(), make, whole=schema is v03
                )
