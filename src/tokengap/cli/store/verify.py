"""`tokengap store verify`: compare a store with what was written."""

import click

from tokengap.cli.store.options import GRACE, STORE


@click.command()
@STORE
@GRACE
@click.pass_context
def verify(ctx: click.Context, path: str, grace_ns: int) -> None:
    """Read every file and compare it with what was written; a line per problem, and exit code 1.

    Compared are bytes (digests), columns, counts of rows and tokens, the loads that rows come from,
    and what the commits say of every load. A file that no commit names is a problem once it is
    older than --grace: until then a running ingest may be about to commit it.
    """
    from tokengap.errors import EXIT_CONDITION
    from tokengap.store.contents import contents
    from tokengap.store.tables import open_store
    from tokengap.store.verify import verify as verified
    from tokengap.units import format_bytes, format_count

    store = open_store(path)
    problems = verified(store, grace_ns=grace_ns)
    for problem in problems:
        click.echo(f"{problem.place}: {problem.says}")
    if problems:
        ctx.exit(EXIT_CONDITION)
    total = contents(store).total
    click.echo(
        f"well: {format_count(total.streams)} streams of {format_count(total.loads)} loads in "
        f"{format_count(total.files)} files, {format_bytes(total.size_bytes)}"
    )
