"""`tokengap handoff check`: one budget, judged, and turned around."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.handoff.stated import Stated, stating
from tokengap.errors import EXIT_CONDITION


@click.command()
@stating
@click.option("--colocated", is_flag=True, help="Add the gap that one shared worker makes.")
@writing
def check(stated: Stated, *, colocated: bool, outputs: Mapping[str, Path], as_json: bool) -> None:
    """Does the KV cache fit through the link inside the promises? Exit 1 if one is missed.

    Prints every term, what the user sees, the verdict on each limit, and the least bandwidth, the
    largest cache and the most overhead that still pass.
    """
    from tokengap.report.handoff.budget import BudgetReport, budget

    cache = stated.described.cache()
    report = BudgetReport(
        stated.handoff(cache),
        stated.promised,
        stated.output_tokens,
        cache,
        stated.described.block,
        colocated=colocated,
    )
    show(budget(report), lambda: _page(report), outputs, as_json=as_json)
    if report.missed:
        click.get_current_context().exit(EXIT_CONDITION)


def _page(report: Any) -> Any:
    from tokengap.report.handoff.budget_page import budget_page

    return budget_page(report)
