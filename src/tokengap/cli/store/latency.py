"""`tokengap store latency`: keep what judging needs."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tokengap.cli.options import declaring
from tokengap.cli.store.options import STORE


@click.command()
@STORE
@declaring
@click.option(
    "--slo",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="For each service of the file, as it is judged: its vantage, origin and handoff.",
)
def latency(path: str, slo: Path | None, **declared: Any) -> None:
    """Work out the latency of every request, a day at a time, and keep it in the store.

    Days whose rows are there already, of the same loads and declarations, are not read again. A
    report on many weeks reads these rows and no gap, and they outlive their streams: see `store
    prune --keep-latency`. Rows under declarations that are not asked for go when their day changes.
    """
    import tempfile

    from tokengap.library import read_catalogue
    from tokengap.library.inputs import declaration
    from tokengap.library.latency_rows import keep_latency
    from tokengap.store.tables import open_store
    from tokengap.units import format_count

    facts = [declaration(**declared)]
    if slo is not None:
        facts = _of_services(slo, facts[0])
    with tempfile.TemporaryDirectory(prefix="tokengap-") as scratch:
        rows = keep_latency(open_store(path), read_catalogue(), facts, Path(scratch))
    made = {row.day: row.rows for row in rows if row.made}
    for day, requests in made.items():
        click.echo(f"{day}: {format_count(requests)} requests")
    there = len({row.day for row in rows} - set(made))
    were = "1 day was" if there == 1 else f"{format_count(there)} days were"
    click.echo(f"{were} there already")


def _of_services(slo: Path, base: Any) -> list[Any]:
    """What is declared for each service; UsageError if the command line says otherwise."""
    from tokengap.errors import UsageError
    from tokengap.library.latency_rows import facts_of
    from tokengap.slo.services import read_services

    context = click.get_current_context()
    for name in ("vantage", "origin", "handoff"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UsageError(f"--{name}: with --slo it is what each service says")
    return [facts_of(service, base) for service in read_services(slo).services]
