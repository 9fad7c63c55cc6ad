"""`tokengap store latency`: keep what judging needs."""

from typing import Any

import click

from tokengap.cli.options import declaring
from tokengap.cli.store.options import STORE


@click.command()
@STORE
@declaring
def latency(path: str, **declared: Any) -> None:
    """Work out the latency of every request, a day at a time, and keep it in the store.

    Days whose rows are there already, of the same loads and declarations, are not read again. A
    report on many weeks reads these rows and no gap, and they outlive their streams: see `store
    prune --keep-latency`.
    """
    import tempfile
    from pathlib import Path

    from tokengap.library import read_catalogue
    from tokengap.library.inputs import declaration
    from tokengap.library.latency_rows import keep_latency
    from tokengap.store.tables import open_store
    from tokengap.units import format_count

    facts = declaration(**declared)
    with tempfile.TemporaryDirectory(prefix="tokengap-") as scratch:
        days = keep_latency(open_store(path), read_catalogue(), facts, Path(scratch))
    for day in days:
        if day.made:
            click.echo(f"{day.day}: {format_count(day.rows)} requests")
    there = sum(not day.made for day in days)
    were = "1 day was" if there == 1 else f"{format_count(there)} days were"
    click.echo(f"{were} there already")
