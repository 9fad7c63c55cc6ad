"""Options that state a handoff, and the handoff they mean together."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import click

from tokengap.cli.caches import Described, count, describing
from tokengap.cli.options import gathering
from tokengap.errors import UsageError
from tokengap.handoff import Cache, FixedOverlap, Handoff, LayerOverlap, Limits, Link, busiest_share
from tokengap.handoff.budget import PROMISES
from tokengap.slo import combine, parse_limit
from tokengap.units import parse_bandwidth_bytes_per_s, parse_bytes, parse_duration_ns

BY_LAYER: Final = "layers"
_POLICIES: Final = click.Choice(("prefill", "withheld"))
_STATING: Final = (
    click.option("--prefill", metavar="TIME", help="Prefill of the prompt: 40ms."),
    click.option("--step", metavar="TIME", help="One decode step: 10ms."),
    click.option("--bandwidth", metavar="RATE", help="Effective: 1GiB/s or 25Gb/s."),
    click.option("--cache", "size", metavar="SIZE", help="Cache to move: 16MiB. Or a model and:"),
    click.option("--prompt", type=count, metavar="N", help="Prompt tokens of the model below."),
    describing,
    click.option(
        "--overhead", default="0ns", metavar="TIME", help="All that is fixed; none if unsaid."
    ),
    click.option(
        "--overlap", default="0ns", metavar="TIME|layers", help="Hidden, or layer by layer."
    ),
    click.option(
        "--first-token",
        "policy",
        type=_POLICIES,
        default="prefill",
        show_default=True,
        help="Leaves with the prefill, or waits until the handoff is done.",
    ),
    click.option(
        "--limit", "limits", multiple=True, metavar="STAT=TIME", help="ttft, worst_gap, tpot."
    ),
    click.option(
        "--output-tokens",
        type=count,
        default=100,
        show_default=True,
        metavar="N",
        help="Of a response.",
    ),
    click.option(
        "--transfers",
        type=count,
        default=1,
        show_default=True,
        metavar="K",
        help="Equal transfers that share each link.",
    ),
    click.option(
        "--prefill-tp",
        type=count,
        default=1,
        show_default=True,
        metavar="N",
        help="Ranks, a link each.",
    ),
    click.option(
        "--decode-tp",
        type=count,
        default=1,
        show_default=True,
        metavar="N",
        help="The same, of decode.",
    ),
)


@dataclass(frozen=True)
class Stated:
    """What was said of a handoff, as text; None where nothing was."""

    prefill: str | None
    step: str | None
    bandwidth: str | None
    size: str | None
    prompt: int | None
    overhead: str
    overlap: str
    policy: str
    limits: Sequence[str]
    output_tokens: int
    transfers: int
    prefill_tp: int
    decode_tp: int
    described: Described

    def handoff(self, cache: Cache | None, varied: Sequence[str] = ()) -> Handoff:
        """The handoff; `varied` names what need not be said, for an axis sets it."""
        prefill_ns = 0 if "prefill" in varied else parse_duration_ns(_said(self, "prefill"))
        step_ns = 0 if "step" in varied else parse_duration_ns(_said(self, "step"))
        rate = (
            Fraction(1)
            if "bandwidth" in varied
            else parse_bandwidth_bytes_per_s(_said(self, "bandwidth"))
        )
        sized = {"cache", "prompt"} & set(varied)
        return Handoff(
            prefill_ns=prefill_ns,
            step_ns=step_ns,
            cache_bytes=Fraction(0) if sized else self._cache_bytes(cache),
            link=Link(rate, self.transfers, self._share(cache)),
            overhead_ns=parse_duration_ns(self.overhead),
            overlap=self._overlap(cache, prefill_ns),
            withheld=self.policy == "withheld",
        )

    @property
    def promised(self) -> Limits:
        """Limits by statistic. UsageError for one that the budget does not know."""
        asked = combine([], [parse_limit(text) for text in self.limits])
        given = {objective.statistic: objective.limit_ns for objective in asked}
        for statistic in given:
            if statistic not in PROMISES:
                raise UsageError(f"--limit {statistic}: the budget knows {', '.join(PROMISES)}")
        return Limits(*(given.get(statistic) for statistic in PROMISES))

    def _cache_bytes(self, cache: Cache | None) -> Fraction:
        if (self.size is None) == (self.prompt is None):
            raise UsageError("give the cache as --cache SIZE, or as a model and --prompt N")
        if self.size is not None:
            return Fraction(parse_bytes(self.size))
        if cache is None:
            raise UsageError(
                "--prompt needs --model, --config, or --layers, --kv-heads, --head-dim"
            )
        return cache.prompt_bytes(self.prompt or 0, block_tokens=self.described.block)

    def _overlap(self, cache: Cache | None, prefill_ns: int) -> FixedOverlap | LayerOverlap:
        if self.overlap != BY_LAYER:
            return FixedOverlap(parse_duration_ns(self.overlap))
        layers = self.described.layers if cache is None else cache.layers
        if layers is None:
            raise UsageError("--overlap layers needs --layers, or a model")
        return LayerOverlap(layers, prefill_ns)

    def _share(self, cache: Cache | None) -> Fraction:
        if self.prefill_tp == self.decode_tp == 1:
            return Fraction(1)
        heads = self.described.kv_heads if cache is None else cache.heads
        if heads is None:
            raise UsageError("--prefill-tp and --decode-tp need --kv-heads, or a model")
        return busiest_share(heads, self.prefill_tp, self.decode_tp)


def _said(stated: Stated, name: str) -> str:
    text: str | None = getattr(stated, name)
    if text is None:
        raise UsageError(f"--{name} is missing")
    return text


stating = gathering(Stated, "stated", Stated.__dataclass_fields__, _STATING)
"""Options that state a handoff, which the command gets together as `stated`."""
