"""`tokengap formats`: what can be read."""

import click


@click.command()
def formats() -> None:
    """List the log formats that can be read."""
    from tokengap.adapters import ADAPTERS

    width = max(len(adapter.name) for adapter in ADAPTERS)
    for adapter in ADAPTERS:
        click.echo(f"{adapter.name:{width}}  {adapter.reads}")
