"""`tokengap query`: one relation of the library, over logs or stores."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import PATHS, declaring, judging, mounting, reading, remark


@click.command()
@click.argument("name")
@PATHS
@click.option(
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the query, with its unit (ttft=80ms); repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an array of row objects.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@judging
@declaring
@reading
@mounting
def query(
    name: str,
    paths: Sequence[str],
    parameters: Sequence[str],
    as_json: bool,
    as_csv: bool,
    limits: Sequence[str],
    slo: Path | None,
    query_dirs: Sequence[Path],
    **options: Any,
) -> None:
    """Run one query of the library over logs or stores; `sql --list` names them all."""
    from tokengap.errors import UsageError
    from tokengap.library import SHARED, read_catalogue
    from tokengap.library.call import call
    from tokengap.library.inputs import objectives, opened
    from tokengap.report.rows import run, write_csv, write_json, write_table

    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other")
    asked = objectives(limits, slo)
    catalogue = read_catalogue(query_dirs).storing(SHARED)
    statement = call(catalogue, name, parameters, asked)
    with opened(paths, catalogue, remark, only=name, **options) as inputs:
        rows = run(inputs.con, statement)
        if as_json:
            write_json(rows, sys.stdout)
        elif as_csv:
            write_csv(rows, sys.stdout)
        else:
            write_table(rows, sys.stdout)
