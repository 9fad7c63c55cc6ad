"""The command line. Commands are imported when called; errors become exit codes here alone."""

import sys
from importlib import import_module
from typing import Any, Final

import click

from tokengap import __version__
from tokengap.errors import EXIT_INTERRUPTED, TokengapError

COMMANDS: Final = {
    "audit": "Judge logs or stores: who met the limits, who stalled, and where.",
    "ingest": "Load logs into a store and keep them.",
    "handoff": "Work out whether a KV cache fits through a link inside the promises.",
    "query": "Run one query of the library over logs or stores.",
    "sql": "Print the query library for any DuckDB shell.",
    "formats": "List the log formats that can be read.",
}


class Commands(click.Group):
    """A group whose commands are modules of this package, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """Every command, in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command's own module holds it under its name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"tokengap.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; the one place where errors become text and exit codes."""
        try:
            return super().invoke(ctx)
        except TokengapError as error:
            click.echo(f"tokengap: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("tokengap: interrupted", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            sys.stderr.close()
            ctx.exit(0)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Find the requests that meet their average and still stalled.

    tokengap reads the per-token logs of LLM serving systems, derives every gap between tokens,
    and judges them. Start with `tokengap audit FILE --limit tpot=50ms --limit worst_gap=500ms`.
    Exit codes: 0 done, 1 a condition of --fail-on holds or a budget is missed, 2 usage,
    3 unusable input.
    """
