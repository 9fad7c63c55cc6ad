"""`tokengap report weekly`: the report of one week."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tokengap.cli.options import mounting
from tokengap.cli.outputs import Outputs, check_outputs, reporting, write_report
from tokengap.cli.report.gate import Gate, gating
from tokengap.errors import EXIT_CONDITION
from tokengap.weekly.calendar import Week
from tokengap.weekly.gate import COVERAGE


@click.command()
@click.option(
    "--store",
    "store_path",
    required=True,
    metavar="DIR",
    help="Store that `ingest` fills: a folder, or s3://BUCKET/PREFIX.",
)
@click.option(
    "--slo",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="What services promise.",
)
@click.option(
    "--week",
    metavar="YYYY-Www",
    help="ISO week in UTC, such as 2026-W48.  [default: the last that is over]",
)
@click.option(
    "--store-version",
    type=click.IntRange(min=0),
    metavar="N",
    help="Read the store as it was then; a report names its version.  [default: now]",
)
@gating
@mounting
@click.option("--json", "as_json", is_flag=True, help="Print JSON (tokengap.weekly/1).")
@click.option("--summary", is_flag=True, help="Print one paragraph for a chat, as Markdown.")
@reporting
def weekly(
    store_path: str,
    slo: Path,
    week: str | None,
    store_version: int | None,
    gate: Gate,
    query_dirs: Sequence[Path],
    as_json: bool,
    summary: bool,
    outputs: Outputs,
) -> None:
    """Say which promises a week kept, what changed, and what needs doing.

    Conditions of --fail-on, for each promise of each service: `miss`, fewer requests kept it than
    its target; `burn`, its budget is spent, or went too fast at some hour; `regression`, it got
    worse since the week before; and of each service, `coverage`, hours without requests.
    """
    import tempfile

    from tokengap.findings.weekly import weekly as reported
    from tokengap.library import read_catalogue
    from tokengap.slo.services import read_services
    from tokengap.store.tables import open_store

    _check(outputs, gate, as_json=as_json, summary=summary)
    asked, promised = _week(week), read_services(slo)
    _require_promises(gate.fail_on, promised, asked, slo)
    with tempfile.TemporaryDirectory(prefix="tokengap-") as scratch:
        found = reported(
            open_store(store_path, store_version),
            promised,
            asked,
            read_catalogue(query_dirs),
            Path(scratch),
        )
    if outputs.asked:
        from tokengap.report.weekly.whole import compose

        write_report(outputs, compose(found))
    gate.write(found)
    if not (outputs.takes_stdout or gate.takes_stdout):
        _print(found, as_json=as_json, summary=summary)
    if gate.holds(found):
        raise SystemExit(EXIT_CONDITION)


def _check(outputs: Outputs, gate: Gate, *, as_json: bool, summary: bool) -> None:
    from tokengap.errors import UsageError

    if summary and (as_json or outputs.takes_stdout or gate.takes_stdout):
        raise UsageError("--summary is printed instead of --json, or of a file `-`: keep one")
    check_outputs(outputs, as_json=as_json, more=gate.files)
    gate.check()


def _week(text: str | None) -> Week:
    from datetime import UTC, datetime

    from tokengap.weekly.calendar import parse_week

    return Week.of(datetime.now(UTC).date()).back(1) if text is None else parse_week(text)


def _require_promises(fail_on: Sequence[str], promised: Any, week: Week, slo: Path) -> None:
    """A gate that nothing could ever trip would be a lie."""
    from tokengap.errors import UsageError

    gated = [f"--fail-on {condition}" for condition in fail_on if condition != COVERAGE]
    held = (service.on(day) for service in promised.services for day in week.days)
    if gated and not any(held):
        raise UsageError(f"{' '.join(gated)}: {slo} promises nothing in {week}")


def _print(found: Any, *, as_json: bool, summary: bool) -> None:
    if as_json:
        from tokengap.report.weekly.contract import contract_text as text_of
    elif summary:
        from tokengap.report.weekly.summary import summary as text_of
    else:
        from tokengap.report.weekly.text import weekly_text as text_of
    click.echo(text_of(found).removesuffix("\n"))
