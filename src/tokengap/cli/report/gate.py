"""Options on what fails a job, and on the files that tell other systems."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.options import STDOUT, check_output, gathering, remark, write_output
from tokengap.weekly.gate import CONDITIONS, LEAST_COVERAGE, Check, checks

_GATING: Final = (
    click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice(CONDITIONS),
        help="Exit 1 if it holds of any promise, and say where; repeatable.",
    ),
    click.option(
        "--least-coverage",
        type=click.FloatRange(0, 1),
        default=LEAST_COVERAGE,
        show_default=True,
        metavar="SHARE",
        help="Share of the week's hours that need requests: with less, coverage holds.",
    ),
    click.option(
        "--junit",
        type=click.Path(path_type=Path),
        metavar="FILE.xml",
        help="Write the conditions of --fail-on, or else all, as JUnit XML.",
    ),
    click.option(
        "--openmetrics",
        type=click.Path(path_type=Path),
        metavar="FILE.prom",
        help="Write gauges for node exporter's textfile collector; replaced without --force.",
    ),
)


@dataclass(frozen=True)
class Gate:
    """What is asked of a week beside its report."""

    fail_on: Sequence[str]
    least_coverage: float
    junit: Path | None
    openmetrics: Path | None

    @property
    def takes_stdout(self) -> bool:
        """The JUnit XML is printed instead of the report."""
        return self.junit == STDOUT

    @property
    def files(self) -> dict[str, Path]:
        """Files that are not overwritten unless that is asked for, by option."""
        return {} if self.junit is None else {"junit": self.junit}

    def check(self) -> None:
        """UsageError, before any work is done, if the gauges could not be written."""
        from tokengap.errors import UsageError
        from tokengap.report.weekly.openmetrics import SUFFIX

        if self.openmetrics is None:
            return
        if self.openmetrics.suffix != SUFFIX:
            raise UsageError(
                f"--openmetrics {self.openmetrics}: node exporter reads files that end in {SUFFIX}"
            )
        check_output(self.openmetrics, force=True)

    def write(self, weekly: Any) -> None:
        """Write the files asked for."""
        if self.junit is not None:
            from tokengap.report.weekly.junit import junit

            shown = list(self._checks(weekly, self.fail_on or CONDITIONS))
            write_output(self.junit, junit(weekly, shown))
        if self.openmetrics is not None:
            from tokengap.report.files import replace_file
            from tokengap.report.weekly.openmetrics import openmetrics

            replace_file(self.openmetrics, openmetrics(weekly))

    def holds(self, weekly: Any) -> bool:
        """A condition of --fail-on holds; each is said, and each that could not be judged."""
        from tokengap.report.words import plain

        found = self._checks(weekly, self.fail_on)
        for check in (check for check in found if check.holds is not False):
            how = "failed" if check.holds else "not judged"
            where = " ".join(filter(None, (check.service, check.promise)))
            remark(plain(f"{how}: {check.condition} of {where}: {check.says}"))
        return any(check.holds for check in found)

    def _checks(self, weekly: Any, conditions: Collection[str]) -> list[Check]:
        return list(checks(weekly, conditions, self.least_coverage))


gating = gathering(Gate, "gate", Gate.__dataclass_fields__, _GATING)
"""Options on a gate, which the command gets together as `gate`: a `Gate`."""
