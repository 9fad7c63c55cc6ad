"""`tokengap slo check`: what a file means."""

from datetime import datetime
from pathlib import Path

import click

from tokengap.cli.serving import as_of, day_of
from tokengap.cli.slo.outputs import FILE


@click.command()
@FILE
@as_of("Day of which it is said what holds.")
def check(path: Path, as_of: datetime | None) -> None:
    """Say what an SLO file means, or which line is wrong and what to write instead.

    For each service: whose requests it takes, how they are judged, what is promised, and what is
    excluded.
    """
    from tokengap.slo.meaning import meaning
    from tokengap.slo.services import read_services

    click.echo(meaning(read_services(path), day_of(as_of)), nl=False)
