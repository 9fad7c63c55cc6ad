"""Options on the machines of a replay: from a file, or fitted from logs."""

from collections.abc import Mapping, Sequence
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

    def known(self, paths: Sequence[str], options: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """The machines, and the fit where it is fitted from logs; else None.

        paths, options: the log that is replayed, and how logs are read. UsageError for both ways.
        """
        from tokengap.errors import UsageError
        from tokengap.findings.baseline import STORED
        from tokengap.library import read_catalogue
        from tokengap.library.inputs import opened
        from tokengap.replay.sweep.hardware import read_machines
        from tokengap.report.replay.fitted import fitted

        if self.hardware is not None:
            if self.fits:
                raise UsageError("--hardware and --fit exclude each other; keep one")
            return read_machines(self.hardware), None
        catalogue = read_catalogue().storing(STORED)
        with opened(self.fits or paths, catalogue, remark, **options) as inputs:
            found = fitted(inputs.con, self.gpus_per_worker, self.mixed)
        return [found.machine], found


fitting = gathering(Machines, "machines", Machines.__dataclass_fields__, _FITTING)
"""Options on machines, which the command gets together as `machines`."""
