"""`tokengap handoff`: the budget of a cache's way from prefill to decode."""

from importlib import import_module
from typing import Final

import click

SUBCOMMANDS: Final = {
    "check": "Does a cache fit through a link inside the promises, and what would?",
    "region": "Which caches pass through which links, or any two parameters.",
    "lengths": "From which length on the average hides the pause.",
    "fit": "Overhead and bandwidth from the handoffs of a log.",
    "kv": "Bytes of KV cache per token and per prompt.",
}


class Subcommands(click.Group):
    """A group whose commands are modules of this package, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Every command, in the order of use."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command's own module holds it under its name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        module = import_module(f"tokengap.cli.handoff.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.command(cls=Subcommands)
def handoff() -> None:
    """Work out the handoff budget: from stated numbers, or with those of a log."""
