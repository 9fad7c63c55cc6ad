"""`tokengap handoff check`: one budget, judged, and turned around."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import click

from tokengap.cli.handoff.options import Described, count, describing
from tokengap.errors import EXIT_CONDITION, UsageError
from tokengap.handoff import Cache, FixedOverlap, Handoff, LayerOverlap, Limits, Link, busiest_share
from tokengap.slo import combine, parse_limit
from tokengap.units import parse_bandwidth_bytes_per_s, parse_bytes, parse_duration_ns

BY_LAYER = "layers"


@click.command()
@click.option("--prefill", required=True, metavar="TIME", help="Prefill of the prompt: 40ms.")
@click.option("--step", required=True, metavar="TIME", help="One decode step: 10ms.")
@click.option("--bandwidth", required=True, metavar="RATE", help="Effective: 1GiB/s or 25Gb/s.")
@click.option("--cache", "size", metavar="SIZE", help="Cache to move: 16MiB. Or a model and:")
@click.option("--prompt", type=count, metavar="N", help="Prompt tokens of the model below.")
@describing
@click.option(
    "--overhead", default="0ns", metavar="TIME", help="All that is fixed; none if unsaid."
)
@click.option("--overlap", default="0ns", metavar="TIME|layers", help="Hidden, or layer by layer.")
@click.option(
    "--first-token",
    "policy",
    type=click.Choice(("prefill", "withheld")),
    default="prefill",
    show_default=True,
    help="Leaves with the prefill, or waits until the handoff is done.",
)
@click.option(
    "--limit", "limits", multiple=True, metavar="STAT=TIME", help="ttft, worst_gap, tpot."
)
@click.option(
    "--output-tokens",
    type=count,
    default=100,
    show_default=True,
    metavar="N",
    help="Of a response.",
)
@click.option(
    "--transfers",
    type=count,
    default=1,
    show_default=True,
    metavar="K",
    help="Equal transfers that share each link.",
)
@click.option(
    "--prefill-tp",
    type=count,
    default=1,
    show_default=True,
    metavar="N",
    help="Ranks, a link each.",
)
@click.option(
    "--decode-tp",
    type=count,
    default=1,
    show_default=True,
    metavar="N",
    help="The same, of decode.",
)
@click.option("--colocated", is_flag=True, help="Add the gap that one shared worker makes.")
@click.option("--json", "as_json", is_flag=True, help="Print tokengap.handoff/1.")
def check(
    described: Described, limits: Sequence[str], output_tokens: int, as_json: bool, **options: Any
) -> None:
    """Does the KV cache fit through the link inside the promises? Exit 1 if one is missed.

    Prints every term, what the user sees, the verdict on each limit, and the least bandwidth, the
    largest cache and the most overhead that still pass.
    """
    from tokengap.report.budget import BudgetReport, budget_json, budget_text

    cache = described.cache()
    report = BudgetReport(
        _handoff(described, cache, **options),
        _limits(limits),
        output_tokens,
        cache,
        described.block,
        colocated=options["colocated"],
    )
    click.echo(budget_json(report) if as_json else budget_text(report), nl=False)
    if report.missed:
        click.get_current_context().exit(EXIT_CONDITION)


def _handoff(described: Described, cache: Cache | None, **said: Any) -> Handoff:
    prefill_ns = parse_duration_ns(said["prefill"])
    share = _share(described, cache, said["prefill_tp"], said["decode_tp"])
    return Handoff(
        prefill_ns=prefill_ns,
        step_ns=parse_duration_ns(said["step"]),
        cache_bytes=_cache_bytes(described, cache, said["size"], said["prompt"]),
        link=Link(parse_bandwidth_bytes_per_s(said["bandwidth"]), said["transfers"], share),
        overhead_ns=parse_duration_ns(said["overhead"]),
        overlap=_overlap(described, cache, said["overlap"], prefill_ns),
        withheld=said["policy"] == "withheld",
    )


def _cache_bytes(
    described: Described, cache: Cache | None, size: str | None, prompt: int | None
) -> Fraction:
    if (size is None) == (prompt is None):
        raise UsageError("give the cache as --cache SIZE, or as a model and --prompt N")
    if size is not None:
        return Fraction(parse_bytes(size))
    if cache is None:
        raise UsageError("--prompt needs --model, --config, or --layers, --kv-heads, --head-dim")
    return cache.prompt_bytes(prompt or 0, block_tokens=described.block)


def _overlap(
    described: Described, cache: Cache | None, overlap: str, prefill_ns: int
) -> FixedOverlap | LayerOverlap:
    if overlap != BY_LAYER:
        return FixedOverlap(parse_duration_ns(overlap))
    layers = described.layers if cache is None else cache.layers
    if layers is None:
        raise UsageError("--overlap layers needs --layers, or a model")
    return LayerOverlap(layers, prefill_ns)


def _share(described: Described, cache: Cache | None, prefill_tp: int, decode_tp: int) -> Fraction:
    if prefill_tp == decode_tp == 1:
        return Fraction(1)
    heads = described.kv_heads if cache is None else cache.heads
    if heads is None:
        raise UsageError("--prefill-tp and --decode-tp need --kv-heads, or a model")
    return busiest_share(heads, prefill_tp, decode_tp)


def _limits(texts: Sequence[str]) -> Limits:
    given = {o.statistic: o.limit_ns for o in combine([], [parse_limit(text) for text in texts])}
    known = ("ttft", "worst_gap", "tpot")
    for statistic in given:
        if statistic not in known:
            raise UsageError(f"--limit {statistic}: the budget knows {', '.join(known)}")
    return Limits(*(given.get(statistic) for statistic in known))
