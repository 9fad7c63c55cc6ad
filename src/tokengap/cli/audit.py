"""`tokengap audit`: the main job."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import PATHS, declaring, judging, mounting, reading
from tokengap.cli.outputs import Outputs, check_outputs, write_outputs, writing
from tokengap.errors import EXIT_CONDITION

PLAIN_WIDTH = 120
CONDITIONS = ("never", "hidden-stall", "miss", "unknown")


@click.command()
@PATHS
@judging
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
    as_json: bool,
    all_stalls: bool,
    fail_on: Sequence[str],
    query_dirs: Sequence[Path],
    outputs: Outputs,
    **options: Any,
) -> None:
    """Judge logs or stores: who met the limits, who stalled, and where.

    A PATH is a log file (.gz and .zst are read as they are), a folder of them, a store, or `-`.
    """
    from tokengap.cli.inputs import objectives, opened
    from tokengap.findings import audit as judge
    from tokengap.library import SHARED, read_catalogue

    check_outputs(outputs, as_json=as_json)
    asked = objectives(limits, slo)
    _require_limits(fail_on, {objective.statistic for objective in asked})
    with opened(paths, read_catalogue(query_dirs).storing(SHARED), **options) as inputs:
        _require_answers(inputs.con)
        found = judge(inputs.con, asked)
        _require_judged(found)
        write_outputs(outputs, inputs.con, found)
    if not outputs.takes_stdout:
        _print(found, as_json=as_json, all_stalls=all_stalls)
    if _holds(found, fail_on):
        raise SystemExit(EXIT_CONDITION)


def _print(found: Any, *, as_json: bool, all_stalls: bool) -> None:
    if as_json:
        import json

        from tokengap.report.contract import contract

        click.echo(json.dumps(contract(found), indent=1, allow_nan=False, ensure_ascii=False))
        return
    from rich.console import Console

    from tokengap.report.text import print_audit

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    print_audit(found, console, all_stalls=all_stalls)


def _require_answers(con: Any) -> None:
    """Workload files have nothing that could be judged, which is not the same as a miss."""
    from tokengap.errors import InputError

    told = con.execute("SELECT bool_and(granularity = 'workload') FROM streams").fetchone()
    if told == (True,):
        raise InputError(
            "these files hold arrivals and lengths only, no answer's times: there is nothing to "
            "judge. `tokengap query streams PATH` shows them"
        )


def _require_judged(found: Any) -> None:
    from tokengap.errors import UsageError

    if found.vantages and not found.judged:
        seen = ", ".join(row["vantage"] for row in found.vantages)
        raise UsageError(f"--vantage: no stream was seen there; the logs were stamped at: {seen}")


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
        }[condition]
        for condition in fail_on
    )
