"""`tokengap replay`: what other ways of dividing the same resources would have done."""

from typing import Final

import click

from tokengap.cli.groups import Subcommands

SUBCOMMANDS: Final = {
    "run": "Replay a log on some pools, and keep or audit what comes of it.",
    "sweep": "Colocated against every split of the same resources: what pays?",
}


@click.command(cls=Subcommands, package="tokengap.cli.replay", subcommands=SUBCOMMANDS)
def replay() -> None:
    """Replay arrivals on pools of workers, in time only: no GPU needed."""
