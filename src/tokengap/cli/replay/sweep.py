"""`tokengap replay sweep`: arms of the same resources, judged by the same promises."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.caches import count
from tokengap.cli.options import PATHS, declaring, judging, reading
from tokengap.cli.replay.linked import Linked, linking
from tokengap.cli.replay.loaded import Loaded, loading
from tokengap.cli.replay.machines import Machines, fitting, whole

_BY: Final[tuple[Literal["gpus", "cost", "power"], ...]] = ("gpus", "cost", "power")


@click.command()
@PATHS
@fitting
@click.option("--gpus", type=click.FloatRange(min=0, min_open=True), help="To divide, or:")
@click.option("--cost", type=click.FloatRange(min=0, min_open=True), help="per hour, or:")
@click.option("--power", type=click.FloatRange(min=0, min_open=True), help="in watts.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the resources that an arm may leave.",
)
@click.option(
    "--arm",
    "named",
    multiple=True,
    metavar="ARM",
    help="Only these: 4, 4:chunked=512, 2P+2D:link=25GB/s, 1P@MACHINE+2D@MACHINE; repeatable.",
)
@click.option("--unequal", is_flag=True, help="Arms may take more or less than there is.")
@click.option(
    "--budget", "budgets", multiple=True, type=count, metavar="N", help="Of chunked steps."
)
@click.option(
    "--batch", "batches", multiple=True, type=count, metavar="N", help="Most that decode at once."
)
@linking
@loading
@click.option(
    "--drawings", type=count, default=20, show_default=True, help="Of the arrivals' intervals."
)
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    help="Share of good requests at the largest rate.",
)
@click.option(
    "--within",
    multiple=True,
    metavar="TIME",
    help="Count worst gaps within this, too; repeatable.",
)
@click.option(
    "--baseline",
    metavar="ARM",
    help="The arm that the log is from: it is replayed first, against the log.",
)
@click.option("--repeat", metavar="LOG", help="Another run of the baseline: the noise.")
@click.option("--quick", is_flag=True, help="No largest rates, and no search for what flips it.")
@judging
@writing
@declaring
@reading
def sweep(
    paths: Sequence[str],
    linked: Linked,
    loaded: Loaded,
    machines: Machines,
    outputs: Mapping[str, Path],
    *,
    as_json: bool,
    limits: Sequence[str],
    slo: Path | None,
    **options: Any,
) -> None:
    """Compare colocated workers with every split of the same GPUs, cost or power.

    Replays the log's arrivals on each arm, drawn anew 20 times, and judges every request by the
    limits. Ranks the arms, says what to do and how far that is from another answer.
    """
    from tokengap.library.inputs import objectives
    from tokengap.report.replay.sweep_text import swept

    asked = _sweep_options(options)
    judged = objectives(limits, slo)
    report = _swept(paths, (linked, loaded, machines), judged, asked, options)
    show(swept(report), lambda: _page(report), outputs, as_json=as_json)


_OWN: Final[tuple[str, ...]] = (
    *_BY, "tolerance", "named", "unequal", "budgets", "batches", "drawings", "target",
    "within", "baseline", "repeat", "quick",
)  # fmt: skip


def _sweep_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options of a sweep; what is left says how logs are read."""
    return {name: options.pop(name) for name in _OWN}


def _swept(
    paths: Sequence[str],
    said: tuple[Linked, Loaded, Machines],
    judged: Any,
    asked: dict[str, Any],
    options: Any,
) -> Any:
    from tokengap.errors import UsageError
    from tokengap.report.replay.study import Study, study
    from tokengap.units import parse_duration_ns

    if not judged:
        raise UsageError("a sweep needs promises to keep: --limit worst_gap=100ms, or --slo FILE")
    linked, loaded, machines = said
    given = {by: asked[by] for by in _BY if asked[by] is not None}
    if len(given) != 1:
        raise UsageError("give what is to be divided: one of --gpus, --cost and --power")
    ((by, total),) = given.items()
    stated = machines.stated()
    facts: dict[str, Any] = {
        "transport": linked.transport(),
        "layers": linked.layers,
        "load": loaded.load(),
        "faults": loaded.faults(),
        "within_ns": [parse_duration_ns(text) for text in asked["within"]],
        **{name: asked[name] for name in _OWN if name not in (*_BY, "within", "repeat")},
    }
    with whole(paths, options) as inputs:
        fitted = None
        if stated is None:
            fitted = machines.fitted(inputs.con, options)
            stated = [fitted.machine]
        wanted = Study(
            machines=stated,
            fitted=fitted,
            by=by,
            total=total,
            objectives=judged,
            repeated=_repeated(asked["repeat"], judged, options),
            same_clock=options["same_clock"],
            progress=_progress(),
            **facts,
        )
        return study(inputs.con, wanted, ", ".join(Path(path).name for path in paths))


def _repeated(path: str | None, judged: Any, options: Any) -> Any:
    """What another run of the baseline showed; None without one."""
    if path is None:
        return None
    from tokengap.report.replay.logged import logged

    with whole([path], options) as inputs:
        return logged(inputs.con, judged)


def _progress() -> Any:
    """Counts replays on a terminal, and nowhere else."""
    if not sys.stderr.isatty():
        return None

    def told(what: str, done: int, total: int) -> None:
        end = "\n" if done == total else ""
        click.echo(f"\r{what}: {done} of {total} replays{end}", err=True, nl=False)

    return told


def _page(report: Any) -> Any:
    from tokengap.report.replay.sweep_page import sweep_page

    return sweep_page(report)
