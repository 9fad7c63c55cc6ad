"""`tokengap report`: what a store says of a span of time."""

from typing import Final

import click

from tokengap.cli.groups import Subcommands

SUBCOMMANDS: Final = {
    "weekly": "Say which promises a week kept, what changed, and what needs doing.",
}


@click.command(cls=Subcommands, package="tokengap.cli.report", subcommands=SUBCOMMANDS)
def report() -> None:
    """Report from a store what services promised, and what they kept."""
