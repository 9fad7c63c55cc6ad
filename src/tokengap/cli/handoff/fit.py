"""`tokengap handoff fit`: what the handoffs of a log say about their link."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.caches import Described, describing
from tokengap.cli.options import PATHS, declaring, reading, remark


@click.command()
@PATHS
@describing
@click.option("--bandwidth", metavar="RATE", help="Nominal rate of the link, to compare with.")
@click.option("--step", metavar="TIME", help="One decode step, which a first gap holds as well.")
@click.option("--limit", metavar="worst_gap=TIME", help="On the first gap.")
@writing
@declaring
@reading
def fit(
    paths: Sequence[str],
    described: Described,
    bandwidth: str | None,
    step: str | None,
    limit: str | None,
    outputs: Mapping[str, Path],
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Overhead and effective bandwidth from logged handoffs, with 95 % intervals.

    A robust line of handoff time against KV bytes, by the boundary of --handoff: for all, and for
    each pair of workers. Bytes are those the log states, or else the whole prompt in the cache of
    a model. Says that it cannot tell where handoffs are too few or too much alike.
    """
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import opened
    from tokengap.report.handoff.fit import FitReport, fitted
    from tokengap.report.handoff.observed import NEEDED, observed
    from tokengap.units import parse_bandwidth_bytes_per_s, parse_duration_ns

    nominal = None if bandwidth is None else parse_bandwidth_bytes_per_s(bandwidth)
    step_ns = None if step is None else parse_duration_ns(step)
    limit_ns = None if limit is None else _limit_ns(limit)
    cache = described.cache()
    with opened(paths, read_catalogue(), remark, only=NEEDED, **options) as inputs:
        seen = observed(inputs.con, options["handoff"], cache, described.block)
    report = FitReport(seen, nominal, step_ns, limit_ns)
    show(fitted(report), lambda: _page(report), outputs, as_json=as_json)


def _limit_ns(text: str) -> int:
    from tokengap.errors import UsageError
    from tokengap.slo import parse_limit

    objective = parse_limit(text)
    if objective.statistic != "worst_gap":
        raise UsageError(f"--limit {objective.statistic}: a handoff makes the worst_gap, only")
    return objective.limit_ns


def _page(report: Any) -> Any:
    from tokengap.report.handoff.fit_page import fit_page

    return fit_page(report)
