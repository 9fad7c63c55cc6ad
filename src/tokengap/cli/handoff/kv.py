"""`tokengap handoff kv`: how large a model's cache is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokengap.cli.answers import show, writing
from tokengap.cli.caches import Described, count, describing


@click.command()
@describing
@click.option(
    "--prompt", type=count, default=1, show_default=True, metavar="N", help="Prompt tokens."
)
@click.option("--tp", type=count, default=1, show_default=True, metavar="N", help="Ranks.")
@writing
def kv(
    described: Described, prompt: int, tp: int, outputs: Mapping[str, Path], *, as_json: bool
) -> None:
    """Bytes of KV cache per token and per prompt: of a model, a config.json, or from numbers."""
    from tokengap.errors import UsageError
    from tokengap.report.handoff.cache_size import CacheSize, cache_size

    cache = described.cache()
    if cache is None:
        raise UsageError("give --model, --config, or --layers, --kv-heads and --head-dim")
    size = CacheSize(cache, prompt, described.block, tp, described.source)
    show(cache_size(size), lambda: _page(size), outputs, as_json=as_json)


def _page(size: Any) -> Any:
    from tokengap.report.handoff.cache_page import cache_page

    return cache_page(size)
