"""The file: one JSON document with one or several benchmarks, each a run of its own.

GuideLLM keeps first and last token time and the number of tokens of a request; the timeline in its
own reports is interpolated. The worst gap is therefore not known, only that it is no shorter than
the mean and no longer than the whole. Stamps are wall seconds of the client's host.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

import msgspec
import pyarrow as pa

from tokengap.adapters.formats.guidellm import v03, v08
from tokengap.adapters.formats.guidellm.facts import Strategy
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.rows import Stream, record_batches
from tokengap.adapters.shared import one_per_record
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.places import Place
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Source

_EXPECTED: Final = "GuideLLM's `benchmarks.json`"
_SIGNS: Final = (b'"guidellm_version"', b'"generative_benchmark"')

T = TypeVar("T")


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
            yield from record_batches(_streams(source, intake), intake.trace)


def _streams(source: Source, intake: Intake) -> Iterator[Stream]:
    report = document(source, Report, _EXPECTED)
    found = enumerate(raw for each in report.benchmarks for raw in each.requests.all)
    for number, benchmark in enumerate(report.benchmarks, 1):
        suffix = f".{number}" if len(report.benchmarks) > 1 else ""
        own = islice(found, len(benchmark.requests.all))
        run = Run(benchmark, source, intake)
        streams: Iterable[Stream]
        if report.metadata is None:
            streams = v03.without_first_starts(run.read(own, v03.Row, v03.stream))
        else:
            streams = run.read(own, v08.Row, v08.stream)
        for stream in streams:
            stream.trace = f"{intake.trace}{suffix}"
            yield stream


@dataclass(frozen=True)
class Run:
    """One benchmark on its way into rows."""

    benchmark: Benchmark
    source: Source
    intake: Intake
    names: Names = field(default_factory=Names)

    def read(
        self,
        found: Iterable[tuple[int, msgspec.Raw]],
        shape: type[T],
        stream: Callable[[T, Strategy, Place], Stream],
    ) -> Iterator[Stream]:
        """Yield the row that `stream` makes of each record of type `shape`."""

        def make(row: T, place: Place) -> Stream:
            made = stream(row, self.benchmark.strategy, place)
            made.model = made.model or self.benchmark.worker.backend_model
            made.request_id = self.names.name(made.request_id, place.number)
            return made

        data = ((index, bytes(raw)) for index, raw in found)
        return one_per_record.streams(self.source, self.intake, data, Records(shape), make)
