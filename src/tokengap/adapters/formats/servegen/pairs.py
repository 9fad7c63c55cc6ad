"""ServeGen (alibaba/ServeGen): requests drawn from the two files that describe one client.

Neither file holds a request. `chunk-<client>-trace.csv` says, for windows of ten minutes, how many
requests per second the client sent and how they bunch; `chunk-<client>-dataset.json` how long they
were, for periods of six hours. The rows are drawn from both, always the same ones: see `draw`. Each
carries the note `drawn_from_distribution` and the client's number as a label.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from tokengap.adapters.formats.servegen.client import draw, read_periods
from tokengap.adapters.interface import About, Head, Intake, Sniff
from tokengap.adapters.source import Source
from tokengap.errors import InputError

_NUMBER: Final = rb"[\d.eE+-]+"
_WINDOW: Final = re.compile(rb"\d+,N,N,(?:Gamma|Weibull)?,N,N\r?$".replace(b"N", _NUMBER))
_LENGTHS: Final = re.compile(rb'\s*\{\s*"\d+"\s*:\s*\{\s*"\w+"\s*:\s*"\{')
_CLIENT: Final = re.compile(r"chunk-(\d+)-")
_TRACE, _DATASET = "chunk-{}-trace.csv", "chunk-{}-dataset.json"

Place = tuple[Path, int]


class ServeGen:
    """Reads pairs of client files."""

    name = "servegen"
    version = 1
    about = About(
        reads="ServeGen chunk-*-trace.csv with chunk-*-dataset.json: requests drawn from them",
        vantage="engine",
        granularity="workload",
        clock="s from the start",
        ttft="no",
        worst_gap="no",
        handoff="no",
        checked="ServeGen @f891d118",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = True

    def sniff(self, head: Head) -> Sniff:
        """Rows of windows without names above them, or lengths with their shares as text."""
        line = head.data.split(b"\n", 1)[0]
        wanted = "windows (start,rate,cv,Gamma or Weibull,shape,scale) or lengths by window"
        matches = _WINDOW.match(line) or _LENGTHS.match(head.data)
        return Sniff((wanted,), () if matches else (wanted,))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per drawn request, client by client; InputError if one lacks a file."""
        traces, datasets = _by_client(sources)
        _require_pairs(traces, datasets)
        for place, trace in sorted(traces.items(), key=lambda item: item[0][1]):
            periods = read_periods(datasets[place], intake)
            yield from draw(place[1], trace, periods, intake)


def _by_client(sources: Sequence[Source]) -> tuple[dict[Place, Source], dict[Place, Source]]:
    """Files of windows and files of lengths, by folder and client."""
    traces: dict[Place, Source] = {}
    datasets: dict[Place, Source] = {}
    for source in sources:
        path = Path(source.name)
        named = _CLIENT.match(path.name)
        if named is None:
            raise InputError(
                f"{source.name}: the name does not say which client it is of; give the files the "
                f"names of the release, {_TRACE.format(0)} and {_DATASET.format(0)}"
            )
        files = datasets if Head(source.head).is_json else traces
        client = int(named[1])
        for earlier in (file for (_, other), file in files.items() if other == client):
            raise InputError(
                f"{source.name}: {earlier.name} is of client {client} too; read the clients of one "
                "model in one call, and those of another in a call with its own --trace"
            )
        files[path.parent, client] = source
    return traces, datasets


def _require_pairs(traces: dict[Place, Source], datasets: dict[Place, Source]) -> None:
    for files, others, other_name, what in (
        (traces, datasets, _DATASET, "how long requests are"),
        (datasets, traces, _TRACE, "when requests arrive"),
    ):
        for (folder, client), file in files.items():
            if (folder, client) not in others:
                raise InputError(
                    f"{file.name}: only half of client {client}; the other half, "
                    f"{folder / other_name.format(client)}, says {what}: give both in one call"
                )
