"""`tokengap sql`: the library as text, for any DuckDB shell."""

from collections.abc import Sequence
from pathlib import Path

import click

from tokengap.cli.options import mounting


@click.command()
@click.argument("name", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the queries, one line each.")
@click.option("--store", metavar="DIR", help="Bind the library to the parts of this store.")
@mounting
def sql(name: str | None, as_list: bool, store: str | None, query_dirs: Sequence[Path]) -> None:
    """Print the query library, or one query with all it needs, in dependency order."""
    from tokengap.library import read_catalogue
    from tokengap.library.script import listing, script

    catalogue = read_catalogue(query_dirs)
    if as_list:
        click.echo(listing(catalogue))
        return
    parts = None
    if store is not None:
        from tokengap.store.records import uris
        from tokengap.store.tables import open_store

        parts = uris(open_store(store).live_parts())
    click.echo(script(catalogue, name, parts))
