"""A week as JUnit XML, for systems that show tests: a suite a service, a case a check.

A check that holds is a failure. What cannot be judged is skipped, with its reason: Jenkins and
GitLab list it apart from what passed. Jenkins shows a failure's message and GitLab its text, so
both are the sentence; GitLab keeps only the first case of a name in a class.
"""

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tokengap.report.words import plain
from tokengap.weekly.gate import COVERAGE, Check
from tokengap.weekly.model import Promise, ServiceWeek, Weekly

_NOT_XML: Final = re.compile("[\ufffe\uffff]")
"""Of what `plain` leaves, the characters that no XML may hold."""
_SUITE_TAGS: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def junit(weekly: Weekly, checks: Collection[Check]) -> str:
    """The checks of the week as one file, the same for the same week."""
    root = Element("testsuites", {"name": f"tokengap {weekly.week}"})
    for week in weekly.services:
        of = [check for check in checks if check.service == week.service.name]
        root.append(_suite(weekly, week, of))
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.attrib[total]) for suite in root)))
    indent(root)
    text = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(weekly: Weekly, week: ServiceWeek, checks: Collection[Check]) -> Element:
    suite = Element("testsuite", {"name": week.service.name, "tests": str(len(checks))})
    properties = SubElement(suite, "properties")
    for name, value in chain(_properties(weekly, week), *map(_numbers, week.promises)):
        if value is not None:
            SubElement(properties, "property", {"name": _text(name), "value": str(value)})
    suite.extend(_case(check) for check in checks)
    for total, tag in _SUITE_TAGS.items():
        suite.set(total, str(len(suite.findall(f"*/{tag}"))))
    suite.set("time", "0")
    suite.set("timestamp", f"{weekly.week.first}T00:00:00")
    return suite


def _case(check: Check) -> Element:
    about = check.condition if check.promise is None else f"{check.promise}: no {check.condition}"
    name = {"name": _text(about), "classname": f"tokengap.{check.service}", "time": "0"}
    case, says = Element("testcase", name), _text(check.says)
    if check.holds:
        failure = SubElement(case, "failure", {"type": check.condition, "message": says})
        failure.text = says
    elif check.holds is None:
        SubElement(case, "skipped", {"message": says}).text = says
    else:
        SubElement(case, "system-out").text = says
    return case


_Property = tuple[str, object]


def _properties(weekly: Weekly, week: ServiceWeek) -> Iterator[_Property]:
    yield "week", weekly.week
    yield "store_version", weekly.store_version
    yield "offered", week.offered
    yield COVERAGE, week.coverage.share


def _numbers(promise: Promise) -> Iterator[_Property]:
    kept, budget, change = promise.kept, promise.budget, promise.change
    numbers = {
        "target": promise.goal.target,
        "attainment": kept.attainment,
        "low": kept.low,
        "high": kept.high,
        "met": kept.met,
        "missed": kept.missed,
        "unknown": kept.unknown,
        "budget_spent_share": budget.spent_share,
        "budget_left_share": budget.left_share,
        "change": change.verdict,
        "change_raw": change.raw,
        "change_matched": change.matched,
    }
    for name, value in numbers.items():
        yield f"{promise.name}.{name}", value


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", plain(text))
