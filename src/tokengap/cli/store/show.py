"""`tokengap store show`: what is there."""

from collections.abc import Iterator
from typing import Any

import click

from tokengap.cli.store.options import STORE


@click.command()
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def show(path: str, *, as_json: bool) -> None:
    """List the days of a store: loads, files, bytes, streams, tokens, first and last origin.

    Below them stand the weeks of which streams were loaded over 36 hours after their day.
    """
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
            "weeks": [
                {"week": str(week), "streams": streams, "late_streams": late}
                for week, (streams, late) in _weeks(found).items()
            ],
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
    said = f"{format_count(found.rejects)} rejects; version {found.version}"
    return "\n".join([*lines, *_late(_weeks(found)), said])


def _weeks(found: Any) -> dict[Any, tuple[int, int]]:
    """Streams of each week, and how many of them came late."""
    from datetime import date

    from tokengap.store.records import UNDATED
    from tokengap.weekly.calendar import Week

    weeks: dict[Week, tuple[int, int]] = {}
    for day, held in found.days.items():
        if day != UNDATED:
            week = Week.of(date.fromisoformat(day))
            streams, late = weeks.get(week, (0, 0))
            weeks[week] = (streams + held.streams, late + held.late_streams)
    return weeks


def _late(weeks: dict[Any, tuple[int, int]]) -> Iterator[str]:
    """A line for each week that got data late; for those in a row that got all of it so, one."""
    from itertools import groupby

    from tokengap.units import format_count, format_share

    told = [(week, *counts) for week, counts in weeks.items() if counts[0]]
    for share, group in groupby(told, lambda week: week[2] / week[1]):
        several = list(group)
        if share == 1 and len(several) > 1:
            yield (
                f"filled in afterwards: {several[0][0]} to {several[-1][0]}, all of "
                f"{format_count(sum(streams for _, streams, _ in several))} streams were loaded "
                "over 36 h after their day"
            )
            continue
        for week, streams, late in several if share else ():
            yield (
                f"late: {week}, {format_count(late)} of {format_count(streams)} streams "
                f"({format_share(share)}) were loaded over 36 h after their day"
            )


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """The day to the left, numbers to the right."""
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
    return "  ".join(cells).rstrip()


def _time(at_ns: int | None) -> str:
    """UTC, to the second."""
    from datetime import UTC, datetime

    return "" if at_ns is None else f"{datetime.fromtimestamp(at_ns // 10**9, UTC):%F %T}"
