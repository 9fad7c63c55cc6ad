"""`tokengap handoff region`: which caches and links pass, or any other two parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.handoff.stated import Stated, stating
from tokengap.cli.options import declaring, reading, remark


@click.command()
@click.argument("paths", metavar="[TRACE]...", nargs=-1)
@click.option(
    "--x",
    "across",
    metavar="PARAMETER=VALUES",
    help="Such as bandwidth=1GiB/s,2GiB/s or cache=1MiB..64MiB:50.",
)
@click.option("--y", "up", metavar="PARAMETER=VALUES", help="Any other parameter.")
@stating
@writing
@declaring
@reading
def region(
    paths: Sequence[str],
    across: str | None,
    up: str | None,
    stated: Stated,
    outputs: Mapping[str, Path],
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Sweep two parameters: the first gap at every pair, and where the promises stop to hold.

    Unless said otherwise, caches of 1 to 64 MiB by bandwidths of 0.25 to 8 GiB/s. Parameters are
    cache, prompt, bandwidth, prefill, step, overhead, overlap, transfers and output-tokens. The
    handoffs of a TRACE are laid over cache and bandwidth.
    """
    from tokengap.cli.handoff.axes import axis
    from tokengap.handoff.parameters import Case
    from tokengap.handoff.region import BANDWIDTHS, SIZES
    from tokengap.report.handoff.region import RegionReport
    from tokengap.report.handoff.region import region as swept

    cache = stated.described.cache()
    x = BANDWIDTHS if across is None else axis(across, stated.described, cache)
    y = SIZES if up is None else axis(up, stated.described, cache)
    varied = (x.parameter.name, y.parameter.name)
    case = Case(stated.handoff(cache, varied), stated.output_tokens)
    handoffs = _handoffs(paths, stated, cache, options) if paths else None
    report = RegionReport(case, stated.promised, x, y, handoffs)
    show(swept(report), lambda: _page(report), outputs, as_json=as_json)


def _handoffs(paths: Sequence[str], stated: Stated, cache: Any, options: Any) -> Any:
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import opened
    from tokengap.report.handoff.observed import NEEDED, observed

    with opened(paths, read_catalogue(), remark, only=NEEDED, **options) as inputs:
        return observed(inputs.con, options["handoff"], cache, stated.described.block)


def _page(report: Any) -> Any:
    from tokengap.report.handoff.region_page import region_page

    return region_page(report)
