"""`--service`: judge by what one service of an SLO file promises."""

from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from tokengap.cli.options import Command

_DECLARED: Final = ("vantage", "origin", "handoff")


def as_of(says: str) -> Callable[[Command], Command]:
    """The option that names the day of which the promises are meant."""
    return click.option(
        "--as-of",
        type=click.DateTime(["%Y-%m-%d"]),
        metavar="DATE",
        help=f"{says}  [default: today]",
    )


def day_of(given: datetime | None) -> date:
    """The day of `--as-of`: today in UTC if none is given. UsageError where windows leave time."""
    from tokengap.errors import UsageError

    if given is not None and not MINYEAR < given.year < MAXYEAR:
        raise UsageError(
            f"--as-of {given.date()}: expected a year after {MINYEAR}, before {MAXYEAR}"
        )
    return (given or datetime.now(UTC)).date()


def serving(command: Command) -> Command:
    """Options on a service, which the command gets as `judged`: a `Judged`, or None without one.

    The service's vantage, origin and handoff boundary hold where the command line names none.
    """

    @wraps(command)
    def chosen(service: str | None, as_of: datetime | None, **options: Any) -> Any:
        judged = _judged(options["slo"], service, as_of)
        context = click.get_current_context()
        for key in _DECLARED if judged else ():
            if context.get_parameter_source(key) is ParameterSource.DEFAULT:
                options[key] = getattr(judged, key)
        return command(**options, judged=judged)

    made = as_of("Day whose versions of the service's objectives hold.")(chosen)
    says = "Judge by the limits, vantage, origin and handoff of this service of the --slo file."
    named: Command = click.option("--service", metavar="NAME", help=says)(made)
    return named


def _judged(slo: Path | None, service: str | None, given: datetime | None) -> Any:
    from tokengap.errors import UsageError
    from tokengap.slo.judged import judged_by

    if service is None:
        if given is not None:
            raise UsageError("--as-of is the day of a service's objectives; give --service too")
        return None
    if slo is None:
        raise UsageError(f"--service {service}: say in which file, with --slo FILE.toml")
    return judged_by(slo, service, day_of(given))
