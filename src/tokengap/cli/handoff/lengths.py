"""`tokengap handoff lengths`: from which length on the average hides the pause."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.handoff.stated import Stated, stating
from tokengap.cli.options import declaring, reading, remark


@click.command()
@click.argument("paths", metavar="[TRACE]...", nargs=-1)
@stating
@writing
@declaring
@reading
def lengths(
    paths: Sequence[str],
    stated: Stated,
    outputs: Mapping[str, Path],
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Worst gap and average TPOT against response length: from where on one hides the other.

    Needs --limit worst_gap; the average is held to the same limit unless --limit tpot says
    otherwise. With a TRACE, the share of its responses that are as long.
    """
    from tokengap.report.handoff.lengths import LengthsReport
    from tokengap.report.handoff.lengths import lengths as against

    cache = stated.described.cache()
    limits = stated.promised
    if limits.tpot_ns is None:
        limits = replace(limits, tpot_ns=limits.worst_gap_ns)
    responses = _responses(paths, options) if paths else None
    report = LengthsReport(stated.handoff(cache), limits, responses)
    show(against(report), lambda: _page(report), outputs, as_json=as_json)


def _responses(paths: Sequence[str], options: Any) -> Any:
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import opened
    from tokengap.report.handoff.lengths import response_lengths

    with opened(paths, read_catalogue(), remark, only="response_lengths", **options) as inputs:
        return response_lengths(inputs.con)


def _page(report: Any) -> Any:
    from tokengap.report.handoff.lengths_page import lengths_page

    return lengths_page(report)
