"""`tokengap audit`: the main job."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import PATHS, declaring, judging, mounting, reading, remark
from tokengap.cli.outputs import Outputs, check_outputs, write_outputs, writing
from tokengap.cli.serving import serving
from tokengap.cli.stored import Stored, storing
from tokengap.errors import EXIT_CONDITION

PLAIN_WIDTH = 120
CONDITIONS = ("never", "hidden-stall", "miss", "unknown", "regression")


@click.command()
@PATHS
@judging
@serving
@storing
@declaring
@reading
@mounting
@click.option("--json", "as_json", is_flag=True, help="Print JSON (tokengap.audit/1).")
@writing
@click.option("--all-stalls", is_flag=True, help="List every hidden stall on the terminal.")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(CONDITIONS),
    help="Exit 1 if it holds; repeatable. miss includes unknown.  [default: never]",
)
def audit(
    paths: Sequence[str],
    limits: Sequence[str],
    slo: Path | None,
    judged: Any,
    stored: Stored,
    as_json: bool,
    all_stalls: bool,
    fail_on: Sequence[str],
    query_dirs: Sequence[Path],
    outputs: Outputs,
    **options: Any,
) -> None:
    """Judge logs or stores: who met the limits, who stalled, and where.

    A PATH is a log file (.gz and .zst are read as they are), a folder of them, a pattern in quotes
    such as 'logs/**/*.gz', a store, or `-`.
    """
    from tokengap.findings.judging import judge
    from tokengap.library import SHARED, read_catalogue
    from tokengap.library.inputs import objectives, opened

    check_outputs(outputs, as_json=as_json)
    asked = objectives(limits, slo, judged)
    statistics = {objective.statistic for objective in asked}
    _require_limits(fail_on, statistics)
    stored.check(statistics, fail_on)
    library = read_catalogue(query_dirs).without("baseline", "weekly").storing(SHARED)
    with opened(paths, library, remark, **options) as inputs:
        found = stored.compared(inputs.con, judge(inputs.con, asked))
        write_outputs(outputs, inputs.con, found)
        stored.save(inputs.con, found, fail_on)
    if not outputs.takes_stdout:
        print_audit(found, as_json=as_json, all_stalls=all_stalls)
    if _holds(found, fail_on):
        raise SystemExit(EXIT_CONDITION)


def print_audit(found: Any, *, as_json: bool, all_stalls: bool) -> None:
    """Print an audit as text, or as JSON."""
    if as_json:
        from tokengap.report.contract import contract_text

        click.echo(contract_text(found), nl=False)
        return
    from rich.console import Console

    from tokengap.report.text import print_audit as print_text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    print_text(found, console, all_stalls=all_stalls)


def _require_limits(fail_on: Sequence[str], statistics: set[str]) -> None:
    """A gate that nothing could ever trip would be a lie."""
    from tokengap.errors import UsageError

    if "hidden-stall" in fail_on and not {"tpot", "worst_gap"} <= statistics:
        raise UsageError(
            "--fail-on hidden-stall needs both limits: --limit tpot=... and --limit worst_gap=..."
        )
    if {"miss", "unknown"} & set(fail_on) and not statistics:
        raise UsageError("--fail-on needs limits: --limit STATISTIC=DURATION or --slo FILE")


def _holds(found: Any, fail_on: Sequence[str]) -> bool:
    missed = any(row["missed"] for row in found.per_objective)
    unknown = any(row["unknown"] for row in found.per_objective)
    return any(
        {
            "never": False,
            "hidden-stall": bool(found.hidden),
            "miss": missed or unknown,
            "unknown": unknown,
            "regression": found.against is not None and found.against.got_worse,
        }[condition]
        for condition in fail_on
    )
