"""What the commands on SLO files share: the file they read, and the one they write."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import STDOUT, Command, check_output, write_output

FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))


def writing(command: Callable[..., str]) -> Command:
    """Options on where the text that the command returns goes."""

    @wraps(command)
    def written(out: Path, *, force: bool, **options: Any) -> None:
        check_output(out, force=force)
        write_output(out, command(**options))

    made: Command = click.option("--force", is_flag=True, help="Overwrite what exists.")(written)
    says = "Write it there; `-` prints it.  [default: -]"
    path = click.Path(path_type=Path)
    named: Command = click.option("--out", type=path, metavar="FILE", default=STDOUT, help=says)(
        made
    )
    return named
