"""`tokengap store compact`: few files instead of many."""

import click

from tokengap.cli.store.options import STORE


@click.command()
@STORE
def compact(path: str) -> None:
    """Merge the files of every day that has more than 32, to about 128 MB each.

    So are the files of `rejects` and `clocks`, of which every load brings its own. No row changes,
    and every load stays known: what was ingested is not ingested again, and a newer load of a
    source still replaces just its rows. A second run changes nothing.
    """
    import tempfile
    from pathlib import Path

    from tokengap.store.compact import compact as compacted
    from tokengap.store.tables import open_store
    from tokengap.units import format_count

    with tempfile.TemporaryDirectory(prefix="tokengap-") as scratch:
        merged = compacted(open_store(path), Path(scratch))
    for each in merged:
        click.echo(
            f"{each.place}: {format_count(each.files_before)} files merged into "
            f"{format_count(each.files_after)}"
        )
    if not merged:
        click.echo("nothing changed")
