"""One query file: a header that is a contract, and one CREATE statement.

    -- name: what it holds (one row per ...).
    --
    -- Free text.
    --
    -- Requires: other, relations
    -- Parameters:
    --   name  TYPE  unit  meaning
    -- Columns:
    --   name  TYPE  unit  meaning
    CREATE VIEW name AS SELECT ...

A view is computed whenever it is read, a TABLE once, when the streams are there: for what is
costly, or would be read many times over. A MACRO takes parameters.
Fields of a line are set apart by two spaces or more; `-` stands for no unit. A file whose name
starts with an underscore is private: it needs no columns in its header.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from tokengap.errors import QueryError

_CREATE: Final = re.compile(r"^CREATE (VIEW|TABLE|MACRO) (\w+)", re.MULTILINE)
_COMMENT: Final = re.compile(r"--.*?$|'(?:[^']|'')*'", re.MULTILINE)
_USE: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)|(?<![\w.])(\w+)\(")


@dataclass(frozen=True)
class Column:
    """A column of a relation, as its header states it."""

    name: str
    type: str
    unit: str
    doc: str


class Parameter(Column):
    """A parameter of a table macro."""


@dataclass(frozen=True)
class Query:
    """One relation of the library."""

    name: str
    path: Path
    summary: str
    text: str
    requires: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    sql: str
    kind: str
    """VIEW, TABLE or MACRO."""

    @property
    def is_macro(self) -> bool:
        """True if it is called, with or without parameters."""
        return self.kind == "MACRO"

    @property
    def is_stored(self) -> bool:
        """True if it is computed once."""
        return self.kind == "TABLE"

    @property
    def is_private(self) -> bool:
        """Private relations serve others and may change without notice."""
        return self.name.startswith("_")

    @property
    def is_table(self) -> bool:
        """False for a scalar macro."""
        return not self.is_macro or " AS TABLE" in self.sql

    @cached_property
    def used(self) -> frozenset[str]:
        """Every name that the SQL reads from or calls, of the library or not."""
        return frozenset(
            read or called for read, called in _USE.findall(_COMMENT.sub("", self.sql))
        )

    def stored(self) -> "Query":
        """The same relation, computed once."""
        return replace(self, kind="TABLE", sql=self.sql.replace("CREATE VIEW", "CREATE TABLE", 1))


def parse(path: Path) -> Query:
    """Read a query file; QueryError says what its header or statement lacks."""
    source = path.read_text("utf-8")
    found = _CREATE.search(source)
    if found is None:
        raise QueryError(f"{path}: no line starts with CREATE VIEW, CREATE TABLE or CREATE MACRO")
    if found[2] != path.stem:
        raise QueryError(f"{path}: defines {found[2]}; the file's name says {path.stem}")
    header, sql = source[: found.start()], source[found.start() :].strip()
    lines = [line.removeprefix("--").removeprefix(" ").rstrip() for line in header.splitlines()]
    title = lines[0] if lines else ""
    if not title.startswith(f"{path.stem}: "):
        raise QueryError(f"{path}:1: expected `-- {path.stem}: what it holds (one row per ...).`")
    sections = _sections(lines[1:])
    requires = " ".join(sections["Requires"]).replace(",", " ").split()
    query = Query(
        name=path.stem,
        path=path,
        summary=title.removeprefix(f"{path.stem}: "),
        text="\n".join(sections["text"]).strip(),
        requires=tuple(requires),
        parameters=tuple(Parameter(*_fields(path, line)) for line in sections["Parameters"]),
        columns=tuple(Column(*_fields(path, line)) for line in sections["Columns"]),
        sql=sql,
        kind=found[1],
    )
    if not query.columns and not query.is_private:
        raise QueryError(f"{path}: the header lists no columns under `-- Columns:`")
    return query


def _sections(lines: list[str]) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {"text": [], "Requires": [], "Parameters": [], "Columns": []}
    current = "text"
    for line in lines:
        name, colon, rest = line.partition(":")
        if colon and name in sections:
            current, line = name, rest  # noqa: PLW2901 (the rest of the heading's line)
        if line.strip() or current == "text":
            sections[current].append(line)
    return sections


def _fields(path: Path, line: str) -> tuple[str, str, str, str]:
    fields = re.split(r"\s{2,}", line.strip(), maxsplit=3)
    if len(fields) != len(Column.__dataclass_fields__):
        raise QueryError(f"{path}: `{line.strip()}`: expected `name  TYPE  unit  meaning`")
    name, type_, unit, doc = fields
    return name, type_, "" if unit == "-" else unit, doc
