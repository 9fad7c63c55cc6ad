"""The report as Markdown, for a chat or a pull request.

No text of a log takes effect: every word that is not plainly a word or a number stands in a code
span, where Markdown, HTML, links, mentions and formulas mean nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tokengap import __version__
from tokengap.report.section import Section, Table
from tokengap.report.whole import Report
from tokengap.report.words import plain

Pictures = Mapping[str, str]
"""Addresses of drawn charts by section name, or of none."""

WITHOUT_PICTURES: Final = "This text has no charts: `--charts DIR` draws them into it."
_SPACES: Final = re.compile(r"(\s+)")
_EDGES: Final = re.compile(r"(?P<before>[(]*)(?P<core>.*?)(?P<after>[*]?[),.:;?]*)", re.DOTALL)
_PLAIN: Final = re.compile(
    r"[^\W\d_]+(?:[-'\u2019/][^\W\d_]+)*"  # words
    r"|[-+<>≤≥±]?\d+(?:[\s.,]\d+)*"  # numbers
    r"|\d\d:\d\d|\d{4}-(?:W\d\d|\d\d-\d\d)"  # times, weeks, days
    r"|[^\W_]{1,4}"  # p50, r12; longer ones may be read as the digest of a commit
    r"|[-\u2013·≤≥=+/%●◆○]*"
)
_TOUCHING: Final = re.compile(r"(?<=[^`])` `(?=[^`])")
"""Between two code spans that read better as one."""
_ESCAPED: Final = str.maketrans({"<": "&lt;", ">": "&gt;", "*": "\\*"})


def markdown(report: Report, pictures: Pictures, undrawn: Mapping[str, str]) -> str:
    """The report; charts by the address of their picture, or by the reason why they have none."""
    parts = [f"# tokengap {report.kind}: {text(report.title)}", text(report.scope)]
    parts += _banner(report)
    if not pictures and not undrawn:
        parts.append(WITHOUT_PICTURES)
    for section in report.sections:
        parts += _section(section, pictures.get(section.name), undrawn.get(section.name))
    return "\n\n".join([*parts, f"tokengap {__version__}"]) + "\n"


def text(said: str) -> str:
    """A sentence or a cell in which no word takes effect.

    >>> text("3 of 60 stalled, see r_1 and <b>")
    '3 of 60 stalled, see `r_1` and `<b>`'
    """
    pieces = _SPACES.split(plain(said).strip())
    words = (piece if _SPACES.fullmatch(piece) else _word(piece) for piece in pieces)
    return _TOUCHING.sub(" ", "".join(words))


def _word(word: str) -> str:
    edges = _EDGES.fullmatch(word)
    before, core, after = edges.group("before", "core", "after") if edges else ("", word, "")
    shown = core.translate(_ESCAPED) if _PLAIN.fullmatch(core) else _code(core)
    return f"{before}{shown}{after.translate(_ESCAPED)}"


def _code(core: str) -> str:
    """Code spans; a bar, which would end a table's cell, stands between two of them."""
    return "&#124;".join(_span(piece) if piece else "" for piece in core.split("|"))


def _span(piece: str) -> str:
    ticks = "`" * (1 + max(map(len, re.findall("`+", piece)), default=0))
    room = " " if piece.startswith("`") or piece.endswith("`") else ""
    return f"{ticks}{room}{piece}{room}{ticks}"


def _banner(report: Report) -> Iterator[str]:
    verdict = report.banner
    yield f"**{text(verdict.says)}**"
    yield from map(text, verdict.more)
    if verdict.tiles:
        yield _items(
            f"{text(tile.title)}: **{text(', '.join(tile.values))}**" + _beside(tile.notes)
            for tile in verdict.tiles
        )


def _beside(notes: Sequence[str]) -> str:
    return f" ({text('; '.join(notes))})" if notes else ""


def _section(section: Section, picture: str | None, undrawn: str | None) -> Iterator[str]:
    yield f"## {text(section.title)}"
    if section.samples:
        yield text(f"{section.samples} · {section.scope}")
    if section.legend:
        yield _items(f"{text(key.says)}: {text(key.count)}" for key in section.legend)
    if picture:
        yield f"![{text(section.title)}]({picture})"
    elif undrawn:
        yield f"No chart: {text(undrawn)}."
    if section.table:
        yield _table(section.table)
    if section.findings:
        yield _items(text(found.says) + _advice(found.advice) for found in section.findings)
    if section.terms:
        yield _items(f"**{text(term)}**: {text(says)}" for term, says in section.terms.items())
    yield from map(text, section.notes)


def _advice(advice: str | None) -> str:
    return f" ({text(advice)})" if advice else ""


def _items(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(table: Table) -> str:
    sides = ["---" if column in table.words else "---:" for column in table.columns]
    rows = [[text(cell) for cell in row] for row in (table.columns, *table.rows)]
    lines = [rows[0], sides, *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
