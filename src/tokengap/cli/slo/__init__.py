"""`tokengap slo`: the file that says what services promise."""

from typing import Final

import click

from tokengap.cli.groups import Subcommands

SUBCOMMANDS: Final = {
    "check": "Say what an SLO file means, or which line is wrong.",
    "export": "Write what an SLO file promises as OpenSLO v1.",
    "import": "Read OpenSLO v1 and write it as an SLO file.",
}


@click.command(cls=Subcommands, package="tokengap.cli.slo", subcommands=SUBCOMMANDS)
def slo() -> None:
    """Check what services promise, and exchange it as OpenSLO."""
