"""A chart's specification without what it takes from the page: variables for colours, a width."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from tokengap.report.chart_legend import WIDTH
from tokengap.report.layers import Spec

_ROOT: Final = re.compile(r":root\s*{(.*?)}", re.DOTALL)
_VARIABLE: Final = re.compile(r"--([\w-]+):\s*([^;]+);")
_USED: Final = re.compile(r"var\(--([\w-]+)\)")
_SYMBOLS: Final = re.compile("[\u2500-\u25ff]")
_SYMBOL_FONT: Final = "DejaVu Sans, system-ui, sans-serif"
"""A renderer of pictures takes one font for a whole text: one that has its marks as well."""
_ROWS: Final = frozenset({"datasets", "values"})
_COLOURS: Final = frozenset({"fill", "stroke", "color"})


def light() -> dict[str, str]:
    """Colours of the page's light theme by the name of their variable."""
    style = (files("tokengap") / "report" / "page.css").read_text("utf-8")
    found = _ROOT.search(style)
    return dict(_VARIABLE.findall(found[1] if found else ""))


def resolved(spec: Spec, colours: Mapping[str, str]) -> Spec:
    """The specification with colours and a width of its own; text of a log is left as it is."""
    made: Spec = _Resolver(colours, frozenset(_drawn_as_they_are(spec))).part(spec)
    return made


def _drawn_as_they_are(part: Any) -> Iterator[str]:
    """Fields of rows that are colours themselves: those that a channel takes without a scale."""
    if isinstance(part, list):
        for each in part:
            yield from _drawn_as_they_are(each)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in _COLOURS and isinstance(value, dict) and value.get("scale", "") is None:
                yield value["field"]
            elif key not in _ROWS:
                yield from _drawn_as_they_are(value)


@dataclass(frozen=True)
class _Resolver:
    colours: Mapping[str, str]
    fields: frozenset[str]

    def part(self, part: Any) -> Any:
        if isinstance(part, dict):
            symbols = _SYMBOLS.search(str(part.get("text")))
            whole = part | ({"font": _SYMBOL_FONT} if symbols else {})
            return {key: self._value(key, value) for key, value in whole.items()}
        if isinstance(part, list):
            return [self.part(each) for each in part]
        return self._text(part) if isinstance(part, str) else part

    def _value(self, key: str, value: Any) -> Any:
        if key == "width" and value == "container":
            return WIDTH
        return self._rows(value) if key in _ROWS else self.part(value)

    def _rows(self, rows: Any) -> Any:
        if isinstance(rows, dict):  # data sets by name
            return {name: self._rows(each) for name, each in rows.items()}
        return [self._row(row) if isinstance(row, dict) else row for row in rows]

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        return row | {name: self._text(row[name]) for name in self.fields & row.keys()}

    def _text(self, text: str) -> str:
        return _USED.sub(lambda used: self.colours[used[1]], text)
