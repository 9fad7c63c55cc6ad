"""`tokengap handoff`: the budget of a cache's way from prefill to decode."""

from typing import Final

import click

from tokengap.cli.groups import Subcommands

SUBCOMMANDS: Final = {
    "check": "Does a cache fit through a link inside the promises, and what would?",
    "region": "Which caches pass through which links, or any two parameters.",
    "lengths": "From which length on the average hides the pause.",
    "fit": "Overhead and bandwidth from the handoffs of a log.",
    "kv": "Bytes of KV cache per token and per prompt.",
}


@click.command(cls=Subcommands, package="tokengap.cli.handoff", subcommands=SUBCOMMANDS)
def handoff() -> None:
    """Work out the handoff budget: from stated numbers, or with those of a log."""
