"""`tokengap formats`: what can be read."""

import click


@click.command()
def formats() -> None:
    """List the log formats that can be read, and what each can answer."""
    from dataclasses import fields

    from tokengap.adapters import ADAPTERS
    from tokengap.adapters.interface import About

    for adapter in ADAPTERS:
        click.echo(f"{click.style(adapter.name, bold=True)}  {adapter.about.reads}")
        answers = [
            f"{field.name.replace('_', ' ')} {getattr(adapter.about, field.name)}"
            for field in fields(About)
            if field.name not in ("reads", "checked")
        ]
        click.echo(f"    {'; '.join(answers)}")
        click.echo(f"    checked against: {adapter.about.checked}\n")
