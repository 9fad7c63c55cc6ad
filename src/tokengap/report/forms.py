"""Forms of a report whose first section is its answer: page, picture, CSV."""

from collections.abc import Iterable
from dataclasses import replace

from tokengap.report.chart_files import chart_files
from tokengap.report.csv_files import csv_files
from tokengap.report.page import page
from tokengap.report.render import RenderError
from tokengap.report.whole import Report


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
