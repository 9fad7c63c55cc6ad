"""Whatever the report is written as, no text of a log takes effect."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest

from tests.cases.commands import strict_json
from tests.report.auditing import LIMITS, text_of
from tests.report.hostile import EVIL, IN_THE_WAY, NAME, hostile
from tests.report.html import Page
from tests.report.reading import rendered, specification
from tokengap.report.words import plain

NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")


def markdown(folder: Path) -> Page:
    return rendered((folder / "audit.md").read_text("utf-8"))


def test_the_log_reaches_every_output(infected: Path) -> None:
    report = strict_json((infected / "audit.json").read_text("utf-8"))
    stalls = report["hidden_stalls"]["requests"]
    assert {stall["request_id"] for stall in stalls} == set(EVIL)
    assert {stall["by"]["request_id"] for stall in stalls} == {IN_THE_WAY}
    for name in ("audit.md", "trace.json", "csv/hidden_stalls.csv"):
        assert "owned" in (infected / name).read_text("utf-8")


def test_a_terminal_obeys_nothing(tmp_path: Path) -> None:
    printed = text_of(tmp_path, hostile(), "--trace", NAME, *LIMITS)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\u2028]", printed)


def test_markdown_of_a_log_is_text(infected: Path, harmless: Path) -> None:
    page, other = markdown(infected), markdown(harmless)
    known = {tag for tag, _, _ in other.elements} | {"code"}
    assert {tag for tag, _, _ in page.elements} <= known
    sources = [found["src"] for tag, found, _ in page.elements if tag == "img"]
    assert all(str(source).startswith("charts/") for source in sources)
    assert len(sources) == len([tag for tag, _, _ in other.elements if tag == "img"])
    assert not {tag for tag, _, _ in page.elements} & {"a", "script", "details"}
    assert page.texts("h1") == [f"tokengap audit: {NAME}"]
    assert page.texts("h2") == other.texts("h2")


def test_markdown_of_a_log_stands_in_code_alone(infected: Path) -> None:
    """So that no program that makes links or mentions of plain text finds one."""
    page = re.sub(r"<code>.*?</code>", "", markdown(infected).html, flags=re.DOTALL)
    text = "".join(ET.fromstring(f"<p>{_closed(page)}</p>").itertext())  # noqa: S314 (our own)
    assert not re.search(r"://|www\.|@|#\d|javascript|:smile:|\$|`", text)


def _closed(html: str) -> str:
    return re.sub(r"<(img|hr|br)([^>]*?)/?>", r"<\1\2/>", html)


def test_markdown_shows_ids_as_they_are(infected: Path) -> None:
    table = next(
        part for part in markdown(infected).html.split("<h2>") if part.startswith("Hidden stalls")
    )
    shown = [" ".join(row[0].split()) for row in Page("<h2>" + table).rows]
    assert set(shown) == {" ".join(plain(evil).split()) for evil in EVIL}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_however_a_spreadsheet_splits(infected: Path, delimiter: str) -> None:
    files = sorted((infected / "csv").glob("*.csv"))
    assert files
    for file in files:
        lines = io.StringIO(file.read_text("utf-8"), newline="")
        for row in csv.reader(lines, delimiter=delimiter):
            for cell in row:
                bare = cell.lstrip(" \t\r\n\"'" if delimiter != "," else " \t\r\n")
                active = bare[:1] in {"=", "+", "-", "@", "\uff1d"} and len(bare) > 1
                apostrophe = cell.lstrip(' "').startswith("'")
                assert not active or NUMBER.fullmatch(bare) or apostrophe, (file.name, cell)


def test_specifications_hold_texts_of_a_log_as_values_alone(infected: Path) -> None:
    files = sorted((infected / "charts").glob("*.vl.json"))
    assert files
    for file in files:
        spec = specification(file)
        design = json.dumps({key: spec[key] for key in spec if key != "datasets"})
        assert "owned" not in design
    drawn = specification(infected / "charts" / "average_against_worst.vl.json")["datasets"]
    named = {row["request"] for rows in drawn.values() for row in rows if "request" in row}
    assert {plain(evil)[:40] for evil in (*EVIL, IN_THE_WAY)} == {name[:40] for name in named}


def test_pictures_hold_nothing_that_runs(infected: Path, harmless: Path) -> None:
    for file in sorted((infected / "charts").glob("*.svg")):
        found, known = (_svg(folder / "charts" / file.name) for folder in (infected, harmless))
        assert found <= known
        assert file.with_suffix(".png").is_file()


def _svg(file: Path) -> set[str]:
    """Elements and attributes; it must be well-formed."""
    parts: set[str] = set()
    for element in ET.fromstring(file.read_text("utf-8")).iter():  # noqa: S314 (our own)
        parts |= {element.tag, *element.attrib}
        # Vega describes marks for screen readers: attributes that do nothing.
        told = {name for name, value in element.attrib.items() if "owned" in value}
        assert told <= {"aria-label"}
    return parts


def test_a_trace_holds_texts_of_a_log_as_names_and_facts_alone(
    infected: Path, harmless: Path
) -> None:
    found, known = (_trace(folder / "trace.json") for folder in (infected, harmless))
    assert {event["ph"] for event in found} <= {"M", "X", "i"}
    keys = {key for event in known for key in event} | {"s"}
    assert {key for event in found for key in event} <= keys
    assert {event.get("cat") for event in found} <= {event.get("cat") for event in known} | {
        "stage"
    }
    tracks = {event["args"]["name"] for event in found if event["name"] == "thread_name"}
    assert {plain(evil) for evil in EVIL} <= tracks
    texts = [text for event in found for text in _texts(event)]
    assert not any(re.search(r"[\x00-\x1f\u202e\u2028]", text) for text in texts)


def _trace(file: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = strict_json(file.read_text("utf-8"))["traceEvents"]
    return events


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    return [value] if isinstance(value, str) else []
