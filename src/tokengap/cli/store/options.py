"""What the commands on a store share."""

import re
from typing import Final

import click

from tokengap.utc import HOUR_NS

STORE: Final = click.argument("path", metavar="STORE")

_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}


def age(text: str) -> int:
    """Whole hours, days or weeks, such as 90d, in nanoseconds."""
    match = re.fullmatch(r"(\d+) ?([hdw])", text.strip())
    if match is None:
        raise click.BadParameter(f"{text!r} is no age; write hours, days or weeks, such as 90d")
    return int(match[1]) * _HOURS[match[2]] * HOUR_NS


GRACE: Final = click.option(
    "--grace",
    "grace_ns",
    type=age,
    default="7d",
    show_default=True,
    metavar="AGE",
    help="Leave files that were written or replaced later than that.",
)
