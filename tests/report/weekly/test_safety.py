"""Nothing that a log or a file of promises says takes effect in a week's report."""

import json
from dataclasses import replace

import pytest

from tests.report.hostile import EVIL, NAME
from tests.report.html import Page
from tests.report.reading import rendered
from tests.report.weekly.example import at, chat, goal, kept, promise, weekly
from tokengap.report.csv_files import csv_files
from tokengap.report.markdown import markdown
from tokengap.report.page import page
from tokengap.report.weekly.text import weekly_text
from tokengap.report.weekly.whole import compose
from tokengap.report.words import plain, shortened
from tokengap.slo.model import Service
from tokengap.weekly.model import Contributor, Excluded, Late, Weekly


def attacked() -> Weekly:
    """All texts are attacks: names of services, tenants, requests, files, reasons, notes."""
    of = chat()
    promised = promise(goal("ttft", 500, "0.9", tenant=NAME), kept(80, 20))
    return weekly(
        replace(
            of,
            service=Service(NAME, (promised.goal,), handoff=NAME),
            promises=[promised],
            daily=[(weekly().week.first, {promised.name: kept(80, 20)})],
            contributors=[Contributor("tenant", evil, 10, 5, 0.01, 0.5) for evil in EVIL],
            worst=[
                replace(of.worst[0], request_id=evil, trace=evil, tenant=evil, model=evil,
                        worker=evil, cause=evil)
                for evil in EVIL
            ],
            trend=[replace(each, currency=NAME) for each in of.trend],
            excluded=[Excluded(at(0, 0), at(0, 2), evil, 1) for evil in EVIL],
            late=[Late(weekly().week.first, 1, at(6, 0), evil) for evil in EVIL],
            notes=EVIL,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> tuple[Page, Page]:
    """A page of attacks, and a harmless one."""
    return Page(page(compose(attacked()))), Page(page(compose(weekly())))


def test_texts_are_plain_on_the_page(pages: tuple[Page, Page]) -> None:
    evil, harmless = pages
    assert {tag for tag, _, _ in evil.elements} <= {tag for tag, _, _ in harmless.elements}
    assert evil.scripts == harmless.scripts
    names = {name for _, found, _ in harmless.elements for name in found}
    assert {name for _, found, _ in evil.elements for name in found} <= names
    shown = [row for row in evil.section("Late and excluded data").rows if row[1] == "excluded"]
    assert [row[-1] for row in shown] == [shortened(plain(text)) for text in EVIL]


def test_texts_enter_charts_as_values_alone(pages: tuple[Page, Page]) -> None:
    evil, _ = pages
    assert len(evil.charts) == 4
    for spec in evil.charts:
        without_data = json.dumps({key: spec[key] for key in spec if key != "datasets"})
        assert "owned" not in without_data
        assert "onerror" not in without_data


def test_texts_are_plain_in_markdown() -> None:
    told = rendered(markdown(compose(attacked()), {}, {}))
    allowed = {"h1", "h2", "p", "strong", "ul", "li", "code", "table", "thead", "tbody", "tr",
               "th", "td"}  # fmt: skip
    assert {tag for tag, _, _ in told.elements} <= allowed


def test_terminals_and_spreadsheets_obey_nothing() -> None:
    assert "\x1b" not in weekly_text(attacked())
    assert "\u202e" not in weekly_text(attacked())
    for _, text in csv_files(compose(attacked())):
        assert not any(line.startswith(("=", "+1", "@")) for line in text.splitlines())
