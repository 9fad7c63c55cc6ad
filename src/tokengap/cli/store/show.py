"""`tokengap store show`: what is there."""

from typing import Any

import click

from tokengap.cli.store.options import STORE


@click.command()
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def show(path: str, *, as_json: bool) -> None:
    """List the days of a store: loads, files, bytes, streams, tokens, first and last origin."""
    from tokengap.store.contents import contents
    from tokengap.store.tables import open_store

    found = contents(open_store(path))
    click.echo(_json(path, found) if as_json else _text(found))


def _json(path: str, found: Any) -> str:
    import json
    from dataclasses import asdict

    days = [{"day": day, **asdict(held)} for day, held in found.days.items()]
    return json.dumps(
        {
            "schema": "tokengap.store/1",
            "store": path,
            "version": found.version,
            **asdict(found.total),
            "rejects": found.rejects,
            "days": days,
        }
    )


def _text(found: Any) -> str:
    from tokengap.units import format_bytes, format_count

    head = ("day", "loads", "files", "bytes", "streams", "tokens", "first", "last")
    rows = [
        (
            day,
            format_count(held.loads)
            + (f" (+{held.pruned_loads} pruned)" * bool(held.pruned_loads)),
            format_count(held.files),
            format_bytes(held.size_bytes),
            format_count(held.streams),
            format_count(held.tokens),
            _time(held.first_origin_ns),
            _time(held.last_origin_ns),
        )
        for day, held in [*found.days.items(), ("all", found.total)]
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [_line(row, widths) for row in (head, *rows)]
    return "\n".join([*lines, f"{format_count(found.rejects)} rejects; version {found.version}"])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """The day to the left, numbers to the right."""
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
    return "  ".join(cells).rstrip()


def _time(at_ns: int | None) -> str:
    """UTC, to the second."""
    from datetime import UTC, datetime

    return "" if at_ns is None else f"{datetime.fromtimestamp(at_ns // 10**9, UTC):%F %T}"
