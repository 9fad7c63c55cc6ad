"""Options on the machines of a replay: from a file, or fitted from logs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.caches import count
from tokengap.cli.options import gathering, remark

_FITTING: Final = (
    click.option(
        "--hardware",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="Machines: what one takes, and how long its steps are. Else they are fitted:",
    ),
    click.option(
        "--fit",
        "fits",
        multiple=True,
        metavar="LOG",
        help="From this log, not from the one that is replayed; repeatable.",
    ),
    click.option(
        "--gpus-per-worker",
        type=count,
        default=1,
        show_default=True,
        metavar="N",
        help="Of the worker that is fitted.",
    ),
    click.option(
        "--mixed",
        type=click.Choice(("max", "sum")),
        default="max",
        show_default=True,
        help="Fixed cost of its steps that prefill and decode: the larger one, or both.",
    ),
)


@dataclass(frozen=True)
class Machines:
    """What was said of the machines."""

    hardware: Path | None
    fits: Sequence[str]
    gpus_per_worker: int
    mixed: Any

    def stated(self) -> list[Any] | None:
        """The machines of the file; None if they are to be fitted. UsageError for both ways."""
        from tokengap.errors import UsageError
        from tokengap.replay.sweep.hardware import read_machines

        if self.hardware is None:
            return None
        if self.fits:
            raise UsageError("--hardware and --fit exclude each other; keep one")
        return read_machines(self.hardware)

    def fitted(self, con: Any, options: Mapping[str, Any]) -> Any:
        """The machine that logs tell of: those of `--fit`, or else the log that is replayed.

        con: has the whole library, bound to that log. options: how logs are read.
        """
        from tokengap.report.replay.fitted import fitted

        if not self.fits:
            return fitted(con, self.gpus_per_worker, self.mixed)
        with whole(self.fits, options) as inputs:
            return fitted(inputs.con, self.gpus_per_worker, self.mixed)


def whole(paths: Sequence[str], options: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """The logs under the whole library, with what its queries read often computed once."""
    from tokengap.findings.baseline import STORED
    from tokengap.library import read_catalogue
    from tokengap.library.inputs import opened

    return opened(paths, read_catalogue().storing(STORED), remark, **options)


fitting = gathering(Machines, "machines", Machines.__dataclass_fields__, _FITTING)
"""Options on machines, which the command gets together as `machines`."""
