"""The command line. Commands are imported when called; errors become exit codes here alone."""

import sys
from typing import Any, Final

import click

from tokengap import __version__
from tokengap.cli.groups import Subcommands
from tokengap.errors import EXIT_INTERRUPTED, TokengapError

COMMANDS: Final = {
    "audit": "Judge logs or stores: who met the limits, who stalled, and where.",
    "baseline": "Measure what separating prefill from decoding could solve here.",
    "ingest": "Load logs into a store and keep them.",
    "store": "Care for a store: show, compact, verify, prune.",
    "handoff": "Work out whether a KV cache fits through a link inside the promises.",
    "replay": "Replay a log on other pools of the same resources.",
    "report": "Report a week of a store: promises kept, budgets left, what changed.",
    "slo": "Check what services promise, and exchange it as OpenSLO.",
    "query": "Run one query of the library over logs or stores.",
    "sql": "Print the query library for any DuckDB shell.",
    "formats": "List the log formats that can be read.",
}


class Commands(Subcommands):
    """All commands; the one place where errors become text and exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
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


@click.command(
    cls=Commands,
    package="tokengap.cli",
    subcommands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Find the requests that meet their average and still stalled.

    tokengap reads the per-token logs of LLM serving systems, derives every gap between tokens,
    and judges them. Start with `tokengap audit FILE --limit tpot=50ms --limit worst_gap=500ms`.
    Exit codes: 0 done, 1 a condition of --fail-on holds or a budget is missed, 2 usage,
    3 unusable input.
    """
