"""Reading a page as a browser would: elements, texts, scripts, charts."""

import re
from html.parser import HTMLParser
from typing import Any, Final

from tests.cases.commands import strict_json

VOID: Final = {"meta", "br", "img", "link", "input", "hr"}
Attributes = dict[str, str | None]


class Page(HTMLParser):
    """The elements of a page in order, with the text inside each."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self._found: list[tuple[str, Attributes, list[str]]] = []
        self._open: list[list[str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text: list[str] = []
        self._found.append((tag, dict(attrs), text))
        if tag not in VOID:
            self._open.append(text)

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 (the parser's signature)
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for text in self._open:
            text.append(data)

    @property
    def elements(self) -> list[tuple[str, Attributes, str]]:
        return [(tag, attributes, "".join(text)) for tag, attributes, text in self._found]

    def texts(self, tag: str, class_: str | None = None) -> list[str]:
        """The text of every such element, line breaks of the source joined."""
        return [
            " ".join(re.split(r"[ \n]+", text.strip()))
            for name, attributes, text in self.elements
            if name == tag and (class_ is None or attributes.get("class") == class_)
        ]

    @property
    def scripts(self) -> list[str]:
        """What would run."""
        return [text for tag, attributes, text in self.elements if _runs(tag, attributes)]

    @property
    def charts(self) -> list[dict[str, Any]]:
        """Specifications of the charts, as strict JSON."""
        return [
            strict_json(text)
            for tag, attributes, text in self.elements
            if tag == "script" and not _runs(tag, attributes)
        ]

    def chart(self, name: str) -> dict[str, Any]:
        """The specification of a section's chart."""
        (text,) = (
            text
            for tag, attributes, text in self.elements
            if tag == "script" and attributes.get("id") == f"chart-{name}"
        )
        spec: dict[str, Any] = strict_json(text)
        return spec

    @property
    def policy(self) -> str:
        (content,) = (
            str(attributes["content"])
            for tag, attributes, _ in self.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        )
        return content

    @property
    def styles(self) -> str:
        return "".join(text for tag, _, text in self.elements if tag == "style")

    def section(self, title: str) -> "Page":
        """The part of the page under a heading."""
        (found,) = (part for part in self.html.split("<section")[1:] if f"<h2>{title}</h2>" in part)
        return Page("<section" + found.split("</section>")[0] + "</section>")

    @property
    def rows(self) -> list[list[str]]:
        """Cells of all tables, without their headings."""
        rows: list[list[str]] = []
        for tag, _, text in self.elements:
            if tag == "tr":
                rows.append([])
            elif tag == "td":
                rows[-1].append(text)
        return [row for row in rows if row]


def _runs(tag: str, attributes: Attributes) -> bool:
    return tag == "script" and attributes.get("type") != "application/json"


def data(spec: dict[str, Any], *fields: str) -> list[dict[str, Any]]:
    """Rows of a chart that have these fields."""
    return [row for rows in spec["datasets"].values() for row in rows if set(fields) <= row.keys()]


def written(spec: dict[str, Any]) -> list[str]:
    """What is written in a chart, line breaks as spaces."""
    texts = (layer["mark"].get("text") for layer in spec["layer"])
    return [text if isinstance(text, str) else " ".join(text) for text in texts if text]


def lines(spec: dict[str, Any]) -> dict[str, set[float]]:
    """Where a chart draws limits, by axis, in ms."""
    found: dict[str, set[float]] = {"x": set(), "y": set()}
    for layer in spec["layer"]:
        for axis, channel in layer.get("encoding", {}).items():
            if layer["mark"]["type"] == "rule" and channel.get("field") == "limit":
                (row,) = spec["datasets"][layer["data"]["name"]]
                found[axis].add(row["limit"])
    return found
