"""Options on the way between two pools, and what they mean together."""

from dataclasses import dataclass
from typing import Final

import click

from tokengap.cli.caches import Described, describing
from tokengap.cli.handoff.stated import BY_LAYER
from tokengap.cli.options import gathering
from tokengap.errors import UsageError
from tokengap.handoff import Cache
from tokengap.replay import Transport
from tokengap.replay.workload import NS_PER_MS
from tokengap.units import parse_bandwidth_bytes_per_s, parse_duration_ns

_LINKING: Final = (
    describing,
    click.option(
        "--bandwidth", metavar="RATE", help="Of each link between pools; none: it takes no time."
    ),
    click.option("--shared-link", is_flag=True, help="One link for all prefill workers."),
    click.option("--overhead", default="0ns", metavar="TIME", help="Fixed, of each handoff."),
    click.option(
        "--overlap",
        type=click.Choice(("none", BY_LAYER)),
        default="none",
        show_default=True,
        help="Send each layer once it is computed.",
    ),
    click.option(
        "--first-token",
        "policy",
        type=click.Choice(("prefill", "withheld")),
        default="prefill",
        show_default=True,
        help="Leaves with the prefill, or waits until the handoff is done.",
    ),
    click.option(
        "--slowdown",
        type=click.FloatRange(min=1),
        default=1.0,
        show_default=True,
        help="Of steps while bytes move.",
    ),
    click.option(
        "--stay-below",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        metavar="N",
        help="Shorter prompts stay at a decode worker.",
    ),
    click.option(
        "--retries",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Of a failed transfer.",
    ),
)


@dataclass(frozen=True)
class Linked:
    """What was said of the way between pools."""

    described: Described
    bandwidth: str | None
    shared_link: bool
    overhead: str
    overlap: str
    policy: str
    slowdown: float
    stay_below: int
    retries: int

    def transport(self) -> Transport:
        """The way that is meant. UsageError if a link has nothing to carry."""
        cache = self.described.cache()
        if self.bandwidth is not None and cache is None:
            raise UsageError(
                "--bandwidth needs the size of a token's cache: --model, --config, or --layers, "
                "--kv-heads, --head-dim and --kv-dtype"
            )
        rate = None if self.bandwidth is None else parse_bandwidth_bytes_per_s(self.bandwidth)
        return Transport(
            kv_bytes_per_token=0.0 if cache is None else float(cache.bytes_per_token),
            bandwidth_bytes_per_s=None if rate is None else float(rate),
            shared=self.shared_link,
            overhead_ms=parse_duration_ns(self.overhead) / NS_PER_MS,
            overlap_layers=self._layers(cache),
            withheld=self.policy == "withheld",
            slowdown=self.slowdown,
            stay_below_tokens=self.stay_below,
            retries=self.retries,
        )

    @property
    def layers(self) -> int | None:
        """Layers of the model; None if none is given."""
        cache = self.described.cache()
        return None if cache is None else cache.layers

    def _layers(self, cache: Cache | None) -> int:
        if self.overlap != BY_LAYER:
            return 1
        if cache is None:
            raise UsageError("--overlap layers needs a model, whose layers are sent one by one")
        return cache.layers


linking = gathering(Linked, "linked", Linked.__dataclass_fields__, _LINKING)
"""Options on the way between pools, which the command gets together as `linked`."""
