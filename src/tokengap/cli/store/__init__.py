"""`tokengap store`: care for a store that grows."""

from typing import Final

import click

from tokengap.cli.groups import Subcommands

SUBCOMMANDS: Final = {
    "show": "What a store holds, day by day.",
    "latency": "Work out the latency of every request, and keep it.",
    "compact": "Merge the many small files of a day.",
    "verify": "Compare every file with what was written.",
    "prune": "Remove the streams of old days.",
    "vacuum": "Remove the files that no query sees.",
}


@click.command(cls=Subcommands, package="tokengap.cli.store", subcommands=SUBCOMMANDS)
def store() -> None:
    """Care for a store that grows: every command may run beside an ingest, and be run again."""
