"""Options on what is replayed of a log, and on what breaks meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from tokengap.cli.caches import count
from tokengap.cli.options import gathering

if TYPE_CHECKING:
    from tokengap.replay import Fault
    from tokengap.replay.load import Load

_LOADING: Final = (
    click.option("--requests", type=count, metavar="N", help="Only the first ones."),
    click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        metavar="PER_S",
        help="Stretch the arrivals to this mean.",
    ),
    click.option(
        "--longest-prompt", type=count, metavar="N", help="Cut prompts to so many tokens."
    ),
    click.option(
        "--arrivals",
        default="as-logged",
        show_default=True,
        metavar="KIND",
        help="Or poisson, gamma=CV, on-off=ON,OFF or closed=USERS,THINK.",
    ),
    click.option(
        "--draw", "drawn", type=count, metavar="N", help="So many, drawn with replacement."
    ),
    click.option(
        "--leave-rate",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="PER_S",
        help="Clients cancel at this rate while they wait.",
    ),
    click.option(
        "--fault",
        "faults_said",
        multiple=True,
        metavar="FAULT",
        help="lost=decode-0@10s..20s, slow=WORKER@..*2, link=WORKER@..*0.5, transfers=0.1@..",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of what is drawn."
    ),
)


@dataclass(frozen=True)
class Loaded:
    """What was said of the load."""

    requests: int | None
    rate: float | None
    longest_prompt: int | None
    arrivals: str
    drawn: int | None
    leave_rate: float
    faults_said: Sequence[str]
    seed: int

    def load(self) -> "Load":
        """The load that is meant."""
        from tokengap.replay.load import Load

        return Load(
            self.requests,
            self.rate,
            self.longest_prompt,
            self.arrivals,
            self.drawn,
            self.leave_rate,
            self.seed,
        )

    def faults(self) -> "list[Fault]":
        """What breaks, and when."""
        from tokengap.replay.fault_names import named_fault

        return [named_fault(text) for text in self.faults_said]


loading = gathering(Loaded, "loaded", Loaded.__dataclass_fields__, _LOADING)
"""Options on the load, which the command gets together as `loaded`."""
