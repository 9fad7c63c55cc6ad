"""A report on a handoff."""

from collections.abc import Sequence
from typing import Final

from tokengap.report.banner import Banner
from tokengap.report.section import Section
from tokengap.report.whole import Report

STATED: Final = "stated numbers, no log"


def compose(
    kind: str, title: str, banner: Banner, sections: Sequence[Section], scope: str = STATED
) -> Report:
    """The first section holds the chart, and the rows behind it."""
    return Report(f"handoff {kind}", title, scope, banner, sections)
