"""Any table, read by a map that the user writes: see `mapping`."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import pyarrow as pa

from tokengap.adapters.formats.table.files import CsvFile, ParquetFile, TableFile
from tokengap.adapters.formats.table.json_lines import JsonFile
from tokengap.adapters.formats.table.parse import Plan, read_map
from tokengap.adapters.formats.table.requests import request_batches
from tokengap.adapters.formats.table.tokens import token_batches
from tokengap.adapters.interface import About, Head, Intake, Sniff
from tokengap.adapters.source import Source
from tokengap.errors import InputError, UsageError


class Table:
    """Reads what its map says."""

    name = "table"
    version = 1
    about = About(
        reads="any CSV, JSONL or Parquet table, by a map (--map FILE.toml)",
        vantage="as mapped",
        granularity="as mapped",
        clock="as mapped, with its unit",
        ttft="as mapped",
        worst_gap="as mapped",
        handoff="as mapped",
        checked="this version",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:  # noqa: ARG002  # nothing in it can tell
        """Never: what a table means cannot be seen, and it may look like anything."""
        return Sniff((), ("--format table --map FILE.toml",))

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; the rows of one are in one file.

        UsageError if there is no map, or a wrong one; InputError if the table lacks a column.
        """
        if intake.mapping is None:
            raise UsageError(
                "--format table needs --map FILE.toml, which says what the columns mean; the "
                'README shows one under "Any other table"'
            )
        plan = read_map(intake.mapping)
        batches = request_batches if plan.map.rows == "request" else token_batches
        for source in sources:
            file = _file(source, plan.map.delimiter)
            wanted = _wanted(plan, file.names, source.name)
            yield from batches(plan, file.pieces(wanted), source, intake)


def _file(source: Source, delimiter: str) -> TableFile:
    head = Head(source.head)
    if head.is_parquet:
        return ParquetFile(source)
    return JsonFile(source) if head.is_json else CsvFile(source, delimiter)


def _wanted(plan: Plan, names: Sequence[str], name: str) -> list[str]:
    """Columns of the file that the map names; InputError if one is not there."""
    wanted: dict[str, None] = {}
    for part, key, cell in plan.map.cells():
        if cell.column is None:
            continue
        if cell.column in names:
            wanted[cell.column] = None
        elif not cell.optional:
            near = get_close_matches(cell.column, names, 1)
            raise InputError(
                f"{name}: no column {cell.column!r} ({plan.place(part, key)});"
                + (f" did you mean {near[0]!r}?" if near else "")
                + f" there are {', '.join(names)}; mark one that may be missing optional = true"
            )
    if not wanted:
        raise UsageError("--map: no column of the table is named; [columns] says what they mean")
    return list(wanted)
