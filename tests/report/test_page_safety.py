"""The page asks nothing of the network, and nothing in a log can make it do anything."""

import base64
import hashlib
import json
import re
from typing import Final

from tests.cases.convert import Record
from tests.report.hostile import EVIL, IN_THE_WAY, NAME
from tests.report.html import Page, data
from tokengap.report.words import plain

LOADS: Final = {"src", "href", "srcset", "action", "formaction", "poster", "ping", "background"}


def test_nothing_is_loaded_from_elsewhere(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    attributes = {name for _, found, _ in page.elements for name in found}
    assert not attributes & LOADS
    assert not {tag for tag, _, _ in page.elements} & {"link", "iframe", "object", "embed", "base"}
    assert not re.search(r"@import|url\(", page.styles)
    assert page.policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?:", page.policy)
    assert not any("http" in json.dumps(spec) for spec in page.charts)


def test_one_script_may_run_and_no_text_may_become_one(one_of_each: tuple[Page, Record]) -> None:
    page, _ = one_of_each
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page.policy
    assert "unsafe-eval" not in page.policy


def test_text_of_logs_is_plain(one_of_each: tuple[Page, Record], attacked: Page) -> None:
    harmless, _ = one_of_each
    assert {tag for tag, _, _ in attacked.elements} <= {tag for tag, _, _ in harmless.elements}
    assert attacked.scripts == harmless.scripts
    names = {name for _, found, _ in harmless.elements for name in found}
    assert {name for _, found, _ in attacked.elements for name in found} <= names
    assert attacked.texts("h1") == [NAME]
    shown = {row[0] for row in attacked.section("Hidden stalls").rows}
    assert shown == {plain(evil) for evil in EVIL}


def test_text_of_logs_enters_charts_as_values_alone(attacked: Page) -> None:
    chart = attacked.chart("average_against_worst")
    assert len(data(chart, "request")) == len([*EVIL, IN_THE_WAY])
    for spec in attacked.charts:
        without_data = json.dumps({key: spec[key] for key in spec if key != "datasets"})
        attacks = (json.dumps(evil)[1:-1] for evil in EVIL if "owned" in evil)
        assert not any(attack in without_data for attack in attacks)
        assert "owned" not in without_data
