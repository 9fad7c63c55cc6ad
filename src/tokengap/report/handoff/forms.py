"""A report on a handoff, and its forms: page, picture, CSV."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tokengap.report.banner import Banner
from tokengap.report.chart_files import chart_files
from tokengap.report.csv_files import csv_files
from tokengap.report.page import page
from tokengap.report.render import RenderError
from tokengap.report.section import Section
from tokengap.report.whole import Report

STATED: Final = "stated numbers, no log"


def compose(
    kind: str, title: str, banner: Banner, sections: Sequence[Section], scope: str = STATED
) -> Report:
    """The first section holds the chart, and the rows behind it."""
    return Report(f"handoff {kind}", title, scope, banner, sections)


def assumed_note(lines: Iterable[str]) -> str:
    """What is taken for granted, in one paragraph."""
    return f"Assumed: {'; '.join(lines)}."


def as_html(report: Report) -> str:
    """One page that needs nothing else."""
    return page(report)


def as_png(report: Report) -> bytes:
    """The chart of the first section. RenderError if it could not be drawn."""
    (drawn,) = chart_files(replace(report, sections=report.sections[:1]))
    if isinstance(drawn.picture, RenderError):
        raise drawn.picture
    return drawn.picture.png


def as_csv(report: Report) -> str:
    """The rows behind the chart."""
    ((_, text),) = csv_files(replace(report, sections=report.sections[:1]))
    return text
