"""`tokengap store prune`: let old days go."""

import click

from tokengap.cli.store.options import STORE, age


@click.command()
@STORE
@click.option(
    "--older-than",
    "age_ns",
    type=age,
    required=True,
    metavar="AGE",
    help="Remove days that ended longer ago, such as 90d.",
)
@click.option("--keep-latency", is_flag=True, help="Keep the latency of every request.")
def prune(path: str, age_ns: int, *, keep_latency: bool) -> None:
    """Remove the streams of old days.

    With --keep-latency the rows that `store latency` made stay: verdicts and percentiles of old
    weeks can still be told, single gaps no more. What was ingested stays known, and is not
    ingested again. Streams on no wall clock have no age and stay. `store vacuum` then makes room.
    """
    import tempfile
    from datetime import UTC, datetime, timedelta
    from pathlib import Path

    from tokengap.store.prune import prune as pruned
    from tokengap.store.tables import open_store
    from tokengap.units import format_count

    first_kept = (datetime.now(UTC) - timedelta(microseconds=age_ns // 1000)).date()
    with tempfile.TemporaryDirectory(prefix="tokengap-") as scratch:
        gone = pruned(open_store(path), str(first_kept), Path(scratch), keep_latency=keep_latency)
    for day in gone:
        click.echo(
            f"{day.day}: {format_count(day.streams)} streams, {format_count(day.tokens)} tokens "
            "removed"
        )
    if not gone:
        click.echo("nothing changed")
