"""`tokengap ingest`: load and keep."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from tokengap.cli.options import PATHS, reading


@click.command()
@PATHS
@click.option("--store", "store_path", required=True, metavar="DIR", help="Store to load into.")
@reading
def ingest(
    paths: Sequence[str],
    store_path: str,
    format_name: str | None,
    trace: str | None,
    mapping: Path | None,
    strict: bool,
) -> None:
    """Load logs into a store and keep them.

    Loading a source twice changes nothing. A newer load of it (a grown log, other options, a newer
    adapter) replaces the older one in one commit.
    """
    from tokengap.cli.inputs import read_mapping, tables_of
    from tokengap.cli.strict import require_quality
    from tokengap.store.connect import Declared
    from tokengap.store.ingest import ingest as load_into
    from tokengap.store.records import Loaded
    from tokengap.units import format_count

    with tempfile.TemporaryDirectory(prefix="tokengap-") as folder:

        def accept(loads: Sequence[Loaded]) -> None:
            require_quality(tables_of(loads), Declared(), Path(folder))

        summary = load_into(
            paths,
            store_path,
            Path(folder),
            format_name=format_name,
            trace=trace,
            mapping=read_mapping(mapping, format_name),
            accept=accept if strict else None,
        )
    for unknown in summary.found.unrecognised:
        click.echo(f"left out: {unknown}", err=True)
    for name, earlier in summary.found.duplicates:
        click.echo(f"left out: {name}: the same bytes as {earlier}", err=True)
    for outcome in summary.outcomes:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        click.echo(
            f"{outcome.names}: {outcome.action}{reason}; {format_count(outcome.streams)} streams, "
            f"{format_count(outcome.tokens)} tokens, {format_count(outcome.rejects)} rejects"
        )
    if not summary.changed:
        click.echo("nothing changed")
