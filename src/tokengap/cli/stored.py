"""Options on a baseline of earlier runs, for the job of a benchmark."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.options import check_output, gathering, remark

_STORED: Final = (
    click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Compare with the runs of this file, beyond the noise between them.",
    ),
    click.option(
        "--save-baseline",
        type=click.Path(path_type=Path),
        metavar="FILE.json",
        help="Add this run to the file, unless --fail-on regression holds.",
    ),
)


@dataclass(frozen=True)
class Stored:
    """Files of earlier runs; None where not asked for."""

    baseline: Path | None
    save_baseline: Path | None

    def check(self, statistics: set[str], fail_on: Sequence[str]) -> None:
        """UsageError, before any work is done, if nothing could be compared or saved."""
        from tokengap.errors import UsageError

        if "regression" in fail_on and self.baseline is None:
            raise UsageError("--fail-on regression needs earlier runs: --baseline FILE.json")
        for option, path in (("baseline", self.baseline), ("save-baseline", self.save_baseline)):
            if path is not None and not statistics:
                raise UsageError(f"--{option} needs limits: --limit STATISTIC=DURATION or --slo")
        if self.baseline is not None and not self.baseline.is_file():
            raise UsageError(f"{self.baseline}: no such file; --save-baseline makes one")
        if self.save_baseline is not None:
            check_output(self.save_baseline, force=True)

    def compared(self, con: Any, found: Any) -> Any:
        """The audit, with what changed since the runs of the file."""
        if self.baseline is None:
            return found
        from tokengap.findings.regression import against

        return replace(found, against=against(con, found.objectives, self.baseline))

    def save(self, con: Any, found: Any, fail_on: Sequence[str]) -> None:
        """Add the run to the file; one that fails the job would teach it the wrong thing."""
        if self.save_baseline is None:
            return
        if "regression" in fail_on and found.against.got_worse:
            remark(f"{self.save_baseline}: this run got worse, and is not added")
            return
        from tokengap.findings.regression import add_run
        from tokengap.units import counted

        runs = add_run(con, found.objectives, self.save_baseline)
        remark(f"{self.save_baseline}: {counted(runs, 'run')}")


storing = gathering(Stored, "stored", Stored.__dataclass_fields__, _STORED)
"""Options on a baseline, which the command gets together as `stored`: a `Stored`."""
