"""`tokengap ingest`: load and keep."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from tokengap.cli.options import PATHS, reading, remark

_NAMED_WEEKS: Final = 4
"""More late weeks than these were filled in afterwards, and are named by the first and the last."""


@click.command()
@PATHS
@click.option(
    "--store",
    "store_path",
    required=True,
    metavar="DIR",
    help="Store to load into: a folder or s3://bucket/prefix.",
)
@reading
def ingest(
    paths: Sequence[str],
    store_path: str,
    format_name: str | None,
    trace: str | None,
    mapping: Path | None,
    strict: bool,
) -> None:
    """Load logs into a store and keep them.

    Loading a source twice changes nothing. A newer load of it (a grown log, other options, a newer
    adapter) replaces the older one in one commit. What came over 36 hours after its day is said by
    week, for a report on that week lacks it.
    """
    from tokengap.library.inputs import keep_in_store
    from tokengap.units import format_count

    summary = keep_in_store(
        paths,
        store_path,
        remark,
        format_name=format_name,
        trace=trace,
        mapping=mapping,
        strict=strict,
    )
    for outcome in summary.outcomes:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        click.echo(
            f"{outcome.names}: {outcome.action}{reason}; {format_count(outcome.streams)} streams, "
            f"{format_count(outcome.tokens)} tokens, {format_count(outcome.rejects)} rejects"
        )
    for late in _late(summary.late):
        click.echo(late)
    if not summary.changed:
        click.echo("nothing changed")


def _late(days: Mapping[str, int]) -> Iterator[str]:
    """Weeks before this one that got rows long after them."""
    from collections import Counter
    from datetime import UTC, date, datetime

    from tokengap.units import format_count
    from tokengap.weekly.calendar import Week

    weeks = Counter[Week]()
    for day, streams in days.items():
        weeks[Week.of(date.fromisoformat(day))] += streams
    over = sorted(week for week in weeks if week < Week.of(datetime.now(UTC).date()))
    if len(over) > _NAMED_WEEKS:
        streams = sum(weeks[week] for week in over)
        yield (
            f"late: {format_count(streams)} streams of {len(over)} weeks, {over[0]} to {over[-1]}: "
            "a `tokengap report weekly` on one of them made before is out of date"
        )
        return
    for week in over:
        yield (
            f"late: {format_count(weeks[week])} streams of {week}: `tokengap report weekly --week "
            f"{week}` made before is out of date"
        )
