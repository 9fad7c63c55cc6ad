"""JUnit XML that every reader takes: by the elements and attributes that Jenkins' schema allows."""

import re
from collections import Counter
from typing import Final
from xml.etree import ElementTree as ET

from tests.report.hostile import EVIL
from tests.report.weekly.gate_example import example, kept, promise, service, weekly
from tokengap.report.weekly.junit import junit
from tokengap.weekly.gate import MISS, checks
from tokengap.weekly.model import Weekly

# Of jenkinsci/xunit-plugin junit-10.xsd: needed attributes, further ones, and elements within.
SCHEMA: Final[dict[str, tuple[set[str], set[str], set[str]]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"}, {"time", "classname"}, {"skipped", "error", "failure", "system-out"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}  # fmt: skip


def made(week: Weekly) -> ET.Element:
    """The file, parsed and held against the schema."""
    root = ET.fromstring(junit(week, list(checks(week))).encode())  # noqa: S314 (our own)
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, further, within = SCHEMA[element.tag]
        assert needed <= element.attrib.keys() <= needed | further, element.tag
        assert {child.tag for child in element} <= within, element.tag
    return root


def test_a_suite_holds_the_checks_of_a_service() -> None:
    chat, batch = made(example())
    counts = ("name", "tests", "failures", "errors", "skipped")
    assert [chat.attrib[count] for count in counts] == ["chat", "13", "5", "0", "0"]
    assert [batch.attrib[count] for count in counts] == ["batch", "4", "0", "0", "1"]
    root = made(example())
    assert [root.attrib[count] for count in counts[:4]] == ["tokengap 2026-W48", "17", "5", "0"]


def test_a_failure_says_its_sentence_to_each_reader() -> None:
    root = made(example())
    (case,) = root.findall(".//testcase[@name='worst_gap: no miss']")
    assert case.attrib["classname"] == "tokengap.chat"
    (failure,) = case
    assert (failure.tag, failure.attrib["type"]) == ("failure", MISS)
    assert failure.attrib["message"] == failure.text
    assert "10 too few for its target of 99 %" in (failure.text or "")


def test_what_passed_says_why_and_what_could_not_be_judged_is_skipped() -> None:
    root = made(example())
    (passed,) = root.findall(".//testcase[@name='ttft: no miss']")
    assert [child.tag for child in passed] == ["system-out"]
    (skipped,) = root.findall(".//testcase[@name='e2e: no regression']/skipped")
    assert skipped.text == "until 2026-11-22, times were stamped at the gateway"
    assert skipped.attrib["message"] == skipped.text


def test_properties_hold_what_is_known() -> None:
    week = weekly(service(promises=[promise(), promise("ttft", kept=kept(0))]))
    properties = {p.attrib["name"]: p.attrib["value"] for p in made(week).iter("property")}
    assert properties["week"] == "2026-W48"
    assert properties["coverage"] == "1.0"
    assert properties["worst_gap.attainment"] == "0.995"
    assert properties["worst_gap.target"] == "0.99"
    assert properties["worst_gap.budget_left_share"] == "0.5"
    assert properties["ttft.met"] == "0"
    assert "ttft.attainment" not in properties


def test_the_same_week_gives_the_same_file() -> None:
    first, second = (junit(example(), list(checks(example()))) for _ in range(2))
    assert first == second
    assert set(re.findall(r'timestamp="([^"]*)"', first)) == {"2026-11-23T00:00:00"}


def test_text_of_a_file_is_never_more_than_text() -> None:
    evil = (*EVIL, "\ufffe\uffff", "\x00", "]]>", "a\ud800")
    promises = [promise(only={"tenant": text}) for text in evil]
    root = made(weekly(service(promises=promises)))
    names = Counter(case.attrib["name"] for case in root.iter("testcase"))
    assert len(names) == 3 * len(evil) + 1
    assert not re.search(r"[\x00-\x1f\x7f\ufffe\uffff\u202e]", "".join(names))
