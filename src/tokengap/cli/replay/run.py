"""`tokengap replay run`: one replay, audited as a log is, or kept."""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.audit import print_audit
from tokengap.cli.caches import count
from tokengap.cli.options import PATHS, declaring, judging, reading, remark
from tokengap.cli.outputs import Outputs, check_outputs, write_outputs, writing
from tokengap.cli.replay.linked import Linked, linking
from tokengap.cli.replay.loaded import Loaded, loading
from tokengap.cli.replay.machines import Machines, fitting, whole


@click.command()
@PATHS
@fitting
@click.option(
    "--arm",
    "text",
    required=True,
    metavar="ARM",
    help="4, 4:chunked=512, 2P+2D:link=25GB/s or 1P@MACHINE+2D@MACHINE.",
)
@linking
@loading
@click.option("--deadline", metavar="TIME", help="Clients leave if the answer is not complete.")
@click.option("--first-token-deadline", metavar="TIME", help="Or if no token has come.")
@click.option("--max-queue", type=count, metavar="N", help="More that wait are rejected.")
@click.option(
    "--on-loss",
    type=click.Choice(("reprefill", "fail")),
    default="reprefill",
    show_default=True,
    help="What becomes of requests whose cache is lost.",
)
@click.option("--store", metavar="DIR", help="Keep the streams in a store.")
@click.option("--name", default="replay", show_default=True, help="Of the trace that comes of it.")
@click.option("--json", "as_json", is_flag=True, help="Print tokengap.audit/1.")
@judging
@writing
@declaring
@reading
def run(
    paths: Sequence[str],
    linked: Linked,
    loaded: Loaded,
    machines: Machines,
    outputs: Outputs,
    *,
    as_json: bool,
    limits: Sequence[str],
    slo: Path | None,
    store: str | None,
    **options: Any,
) -> None:
    """Replay a log's arrivals on an arm, and audit what comes of it as if it were a log.

    The streams have stages, marks and handoffs, so every query, limit and form of the report holds
    for them.
    """
    from tokengap.library import SHARED, read_catalogue
    from tokengap.library.inputs import bound, objectives, tables_of
    from tokengap.report.replay.rerun import keep, rows_of
    from tokengap.store.connect import Declared

    check_outputs(outputs, as_json=as_json)
    asked = objectives(limits, slo)
    rerun = _rerun(paths, (linked, loaded, machines), options)
    outcome = rerun.outcome()
    if not outcome.is_stable:
        remark("unstable: a queue grew for as long as requests came")
    with tempfile.TemporaryDirectory(prefix="tokengap-") as folder:
        scratch = Path(folder)
        rows = rows_of(rerun, outcome, scratch, by_day=store is not None)
        tables = tables_of([rows])
        library = read_catalogue().storing(SHARED)
        with bound(tables, library, Declared(), scratch) as con:
            _audit(con, asked, outputs, as_json=as_json)
        if store is not None:
            kept = keep(rows, store, scratch)
            remark(f"{store}: {'kept' if kept else 'there already'}")


def _audit(con: Any, asked: Any, outputs: Outputs, *, as_json: bool) -> None:
    from tokengap.findings.judging import judge

    found = judge(con, asked)
    write_outputs(outputs, con, found)
    if not outputs.takes_stdout:
        print_audit(found, as_json=as_json, all_stalls=False)


_OWN: Final = (
    "text", "deadline", "first_token_deadline", "max_queue", "on_loss", "name",
)  # fmt: skip


def _rerun(
    paths: Sequence[str], said: tuple[Linked, Loaded, Machines], options: dict[str, Any]
) -> Any:
    from tokengap.replay.sweep.named import Ways, named_arm
    from tokengap.report.replay.logged import arrivals
    from tokengap.report.replay.rerun import Clients, Rerun

    own = {name: options.pop(name) for name in _OWN}
    linked, loaded, machines = said
    stated = machines.stated()
    transport, layers = linked.transport(), linked.layers
    clients = Clients(
        _ms(own["deadline"]), _ms(own["first_token_deadline"]), own["max_queue"], own["on_loss"]
    )
    faults = tuple(loaded.faults())
    with _log(paths, options, fits=stated is None) as inputs:
        known = stated or [machines.fitted(inputs.con, options).machine]
        arm = named_arm(own["text"], Ways(known, transport, layers))
        log = arrivals(inputs.con, same_clock=options["same_clock"])
        load = loaded.load().of(log)
    return Rerun(own["name"], arm, clients.pools(arm.pools), load, faults, loaded.seed)


def _log(
    paths: Sequence[str], options: dict[str, Any], *, fits: bool
) -> AbstractContextManager[Any]:
    """The log with as much of the library as is needed: for a fit, all of it."""
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import opened

    if fits:
        return whole(paths, options)
    return opened(paths, read_catalogue(), remark, only="_judged", **options)


def _ms(text: str | None) -> float | None:
    from tokengap.replay.workload import NS_PER_MS
    from tokengap.units import parse_duration_ns

    return None if text is None else parse_duration_ns(text) / NS_PER_MS
