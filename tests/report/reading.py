"""Reading the other forms of the report as their readers would."""

import csv
import io
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt

from tests.cases.commands import strict_json
from tests.report.html import Page

_MARKDOWN: Final = MarkdownIt("commonmark", {"xhtmlOut": False}).enable(["table", "strikethrough"])


def rendered(markdown: str) -> Page:
    """Markdown with tables, as a browser gets it; HTML in it passes through."""
    return Page(_MARKDOWN.render(markdown))


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file by column."""
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8")), strict=True))


def specification(path: Path) -> dict[str, Any]:
    """A Vega-Lite file as strict JSON."""
    found: dict[str, Any] = strict_json(path.read_text("utf-8"))
    return found
