"""The sections of a report, in the order in which they are read: one file each.

To add one: write `sections/<name>.py` with a function of the same name, put it in `SECTIONS`, and
add a test under `tests/report/sections/`. The page, Markdown, the CSV files and the chart files
then have it.
"""

from typing import Final

from tokengap.report.section import Build, Section, Subject
from tokengap.report.sections.against import against
from tokengap.report.sections.average_against_worst import average_against_worst
from tokengap.report.sections.causes import causes
from tokengap.report.sections.data_quality import data_quality
from tokengap.report.sections.gap_survival import gap_survival
from tokengap.report.sections.handoff import handoff
from tokengap.report.sections.handoff_by_size import handoff_by_size
from tokengap.report.sections.handoff_stages import handoff_stages
from tokengap.report.sections.hidden_stalls import hidden_stalls
from tokengap.report.sections.latency import latency
from tokengap.report.sections.load import load
from tokengap.report.sections.objectives import objectives
from tokengap.report.sections.promises import promises
from tokengap.report.sections.request_timelines import request_timelines
from tokengap.report.sections.terms import terms
from tokengap.report.sections.vantages import vantages
from tokengap.report.sections.worst_gap_places import worst_gap_places

SECTIONS: Final[tuple[Build, ...]] = (
    objectives,
    against,
    average_against_worst,
    request_timelines,
    causes,
    hidden_stalls,
    gap_survival,
    worst_gap_places,
    promises,
    load,
    latency,
    handoff,
    handoff_stages,
    handoff_by_size,
    vantages,
    data_quality,
    terms,
)


def sections(subject: Subject) -> list[Section]:
    """Those that have a place in this report."""
    return [section for build in SECTIONS if (section := build(subject)) is not None]
