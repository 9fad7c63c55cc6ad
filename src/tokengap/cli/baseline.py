"""`tokengap baseline`: what a colocated trace shows before anything is separated."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import PATHS, declaring, judging, mounting, reading, remark
from tokengap.cli.outputs import Outputs, check_outputs, reporting, write_report


@click.command()
@PATHS
@judging
@click.option(
    "--chunk",
    "chunk_tokens",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    metavar="TOKENS",
    help="Prompt tokens of one chunk, for what chunked prefill could help.",
)
@declaring
@reading
@mounting
@click.option("--json", "as_json", is_flag=True, help="Print JSON (tokengap.baseline/1).")
@reporting
def baseline(
    paths: Sequence[str],
    limits: Sequence[str],
    slo: Path | None,
    chunk_tokens: int,
    as_json: bool,
    query_dirs: Sequence[Path],
    outputs: Outputs,
    **options: Any,
) -> None:
    """Measure what separating prefill from decoding could solve here.

    What other requests' prefills do to the gaps beside them, how many missed limits separation or
    chunked prefill could have kept at most, how requests arrive and how long they are, and what
    prefills and decode steps cost. Without limits, a gap over 20 of a stream's steps is a stall.
    """
    from tokengap.findings.baseline import STORED
    from tokengap.findings.baseline import baseline as measured
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import objectives, opened

    check_outputs(outputs, as_json=as_json)
    asked = objectives(limits, slo)
    with opened(paths, read_catalogue(query_dirs).storing(STORED), remark, **options) as inputs:
        found = measured(inputs.con, asked, chunk_tokens)
    if outputs.asked:
        from tokengap.report.baseline.whole import compose

        write_report(outputs, compose(found))
    if not outputs.takes_stdout:
        _print(found, as_json=as_json)


def _print(found: Any, *, as_json: bool) -> None:
    from tokengap.report.baseline.contract import contract_text
    from tokengap.report.baseline.text import baseline_text

    click.echo(contract_text(found) if as_json else baseline_text(found), nl=False)
