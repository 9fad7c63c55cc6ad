"""Sections of a report on a baseline."""

from collections import defaultdict
from typing import Any, Final

import pytest

from tests.cli.running import SAMPLES
from tests.findings.test_baseline import BENCH, measured
from tests.report.html import Page, data
from tokengap.baseline import Misses
from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.sections import SECTIONS, sections
from tokengap.report.baseline.sections.removable_misses import PARTS
from tokengap.report.baseline.whole import compose
from tokengap.report.baseline.words import miss_name
from tokengap.report.page import page
from tokengap.report.section import Section

NAMES: Final = [build.__name__ for build in SECTIONS]


@pytest.fixture(scope="module")
def found() -> Baseline:
    victims = BENCH / "bench_victims_mono8192_quiet.json.gz"
    return measured(victims, BENCH / "bench_interferers_mono8192_quiet.json", same_clock=True)


@pytest.fixture(scope="module")
def told(found: Baseline) -> dict[str, Section]:
    return {section.name: section for section in sections(found)}


def rows(section: Section, *fields: str) -> list[dict[str, Any]]:
    assert section.chart is not None
    return data(section.chart, *fields)


def test_every_section_is_there_under_its_name(told: dict[str, Section]) -> None:
    assert list(told) == NAMES
    assert all(section.notes for section in told.values())


def test_parts_of_a_bar_tile_it(told: dict[str, Section], found: Baseline) -> None:
    bars = defaultdict(list)
    for part in rows(told["removable_misses"], "part", "from"):
        bars[part["bar"]].append(part)
    assert len(bars) == 3  # tpot, worst gap, any
    for parts in bars.values():
        ends = [(part["from"], part["to"]) for part in parts]
        assert ends[0][0] == 0
        assert ends[-1][1] == 1
        assert [end for _, end in ends[:-1]] == [start for start, _ in ends[1:]]
    counts = {part["part"]: part["requests"] for part in bars[f"{miss_name(found.any)}: 21"]}
    # 12 could be helped by separation and 10 by chunks, 9 by neither: 21 - 9 = 12, so 10 by both.
    assert counts == {"separation or chunks": 10, "separation only": 2, "neither": 9}
    assert counts.keys() <= PARTS.keys()


def test_each_dose_has_its_mark(told: dict[str, Section], found: Baseline) -> None:
    marks = rows(told["dose_response"], "dose", "gap")
    exposed = [dose for dose in found.doses if dose.dose_step > 0]
    assert [mark["dose"] for mark in marks] == [dose.dose_tokens for dose in exposed]
    assert all(mark["low"] <= mark["gap"] <= mark["high"] for mark in marks)
    assert [mark["thin"] for mark in marks] == [dose.blocks < 5 for dose in exposed]
    assert [row["gaps"] for row in told["dose_response"].data] == [d.gaps for d in found.doses]


def test_cells_hold_every_request_once(told: dict[str, Section]) -> None:
    cells = rows(told["lengths"], "count", "strength")
    assert sum(int(cell["count"]) for cell in cells) == 68
    assert max(cell["strength"] for cell in cells) == pytest.approx(0.95)


def test_page_shows_them_under_the_verdict(found: Baseline) -> None:
    shown = Page(page(compose(found)))
    assert len(shown.charts) == 6  # all but the table of concurrency


def test_misses_are_named_by_their_limit() -> None:
    assert miss_name(Misses("tpot", 50_000_000, 1, 0, 0, 1)) == "average TPOT ≤ 50 ms"
    assert miss_name(Misses("any", None, 1, 0, 0, 1)) == "any limit"
    assert miss_name(Misses("stall", None, 1, 0, 0, 1)) == "stalls"


def test_a_log_of_averages_has_notes_instead_of_charts() -> None:
    """No gap is known, so none has a dose and none is missed."""
    told = {s.name: s for s in sections(measured(SAMPLES / "litellm", limits=()))}
    for name in ("removable_misses", "dose_response", "service_model", "arrivals"):
        assert told[name].chart is None, name
        assert told[name].notes, name
