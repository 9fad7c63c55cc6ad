"""Groups of commands, each a module of one package, imported on use."""

from collections.abc import Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class Subcommands(click.Group):
    """A group of which each command's module holds it under its name, `import_` for import.

    package: of these modules. subcommands: what each does, in the order of use.
    """

    def __init__(
        self, *args: Any, package: str, subcommands: Mapping[str, str], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._package, self._subcommands = package, subcommands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Every command."""
        return list(self._subcommands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in self._subcommands:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = import_module(f"{self._package}.{name}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._subcommands.items()))
