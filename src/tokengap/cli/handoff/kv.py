"""`tokengap handoff kv`: how large a model's cache is."""

import click

from tokengap.cli.handoff.options import Described, count, describing


@click.command()
@describing
@click.option(
    "--prompt", type=count, default=1, show_default=True, metavar="N", help="Prompt tokens."
)
@click.option("--tp", type=count, default=1, show_default=True, metavar="N", help="Ranks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def kv(described: Described, prompt: int, tp: int, as_json: bool) -> None:
    """Bytes of KV cache per token and per prompt: of a model, a config.json, or from numbers."""
    from tokengap.errors import UsageError
    from tokengap.report.cache_size import CacheSize, cache_json, cache_text

    cache = described.cache()
    if cache is None:
        raise UsageError("give --model, --config, or --layers, --kv-heads and --head-dim")
    size = CacheSize(cache, prompt, described.block, tp, described.source)
    click.echo(cache_json(size) if as_json else cache_text(size), nl=False)
