"""`tokengap ingest`: load and keep."""

from collections.abc import Sequence
from pathlib import Path

import click

from tokengap.cli.options import PATHS, reading, remark


@click.command()
@PATHS
@click.option(
    "--store",
    "store_path",
    required=True,
    metavar="DIR",
    help="Store to load into: a folder or s3://bucket/prefix.",
)
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
    from tokengap.library.inputs import keep_in_store
    from tokengap.units import format_count

    summary = keep_in_store(
        paths,
        store_path,
        remark,
        format_name=format_name,
        trace=trace,
        mapping=mapping,
        strict=strict,
    )
    for outcome in summary.outcomes:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        click.echo(
            f"{outcome.names}: {outcome.action}{reason}; {format_count(outcome.streams)} streams, "
            f"{format_count(outcome.tokens)} tokens, {format_count(outcome.rejects)} rejects"
        )
    if not summary.changed:
        click.echo("nothing changed")
