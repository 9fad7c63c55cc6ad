"""The sections of a report on a baseline, in the order in which they are read: one file each.

To add one: write `sections/<name>.py` with a function of the same name, and put it in `SECTIONS`.
"""

from collections.abc import Callable
from typing import Final

from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.sections.arrivals import arrivals
from tokengap.report.baseline.sections.concurrency import concurrency
from tokengap.report.baseline.sections.dose_response import dose_response
from tokengap.report.baseline.sections.lengths import lengths
from tokengap.report.baseline.sections.load import load
from tokengap.report.baseline.sections.removable_misses import removable_misses
from tokengap.report.baseline.sections.service_model import service_model
from tokengap.report.section import Section

SECTIONS: Final[tuple[Callable[[Baseline], Section], ...]] = (
    removable_misses,
    dose_response,
    service_model,
    lengths,
    load,
    arrivals,
    concurrency,
)


def sections(found: Baseline) -> list[Section]:
    """All of them."""
    return [build(found) for build in SECTIONS]
