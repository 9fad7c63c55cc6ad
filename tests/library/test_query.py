"""Reading one query file."""

from pathlib import Path

import pytest

from tokengap.errors import QueryError
from tokengap.library.query import parse

GOOD = """\
-- tall: what is tall (one row per thing).
--
-- Two lines
-- of text.
--
-- Requires: streams, gaps
-- Parameters:
--   least  BIGINT  ns  At least so much.
-- Columns:
--   name   VARCHAR                       -   Whose.
--   parts  STRUCT(a INTEGER, b VARCHAR)  ns  What, with  two blanks.
CREATE MACRO tall(least BIGINT := 0) AS TABLE
SELECT name, parts FROM streams, gaps;
"""


def write(folder: Path, text: str, name: str = "tall") -> Path:
    path = folder / f"{name}.sql"
    path.write_text(text, "utf-8")
    return path


def test_header_is_read_into_its_parts(tmp_path: Path) -> None:
    query = parse(write(tmp_path, GOOD))
    assert query.name == "tall"
    assert query.summary == "what is tall (one row per thing)."
    assert query.text == "Two lines\nof text."
    assert query.requires == ("streams", "gaps")
    (least,) = query.parameters
    assert (least.name, least.type, least.unit, least.doc) == (
        "least", "BIGINT", "ns", "At least so much.",
    )  # fmt: skip
    name, parts = query.columns
    assert (name.name, name.type, name.unit) == ("name", "VARCHAR", "")
    assert parts.type == "STRUCT(a INTEGER, b VARCHAR)"
    assert parts.doc == "What, with  two blanks."
    assert query.is_macro
    assert query.is_table
    assert not query.is_private
    assert query.sql.startswith("CREATE MACRO")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("CREATE MACRO tall", "SELECT tall", "no line starts with CREATE"),
        ("CREATE MACRO tall", "CREATE MACRO short", "defines short; the file's name says tall"),
        ("-- tall: what", "-- what", "expected `-- tall: what it holds"),
        ("VARCHAR                       -", "VARCHAR -", "expected `name  TYPE  unit  meaning`"),
        (GOOD[GOOD.index("-- Columns") : GOOD.index("CREATE")], "", "the header lists no columns"),
    ],
)
def test_broken_header_says_what_it_lacks(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = GOOD.replace(old, new)
    with pytest.raises(QueryError, match=r"tall\.sql") as error:
        parse(write(tmp_path, text))
    assert said in str(error.value)


def test_private_file_needs_no_columns(tmp_path: Path) -> None:
    query = parse(write(tmp_path, "-- _x: things (one row).\nCREATE VIEW _x AS SELECT 1;\n", "_x"))
    assert query.is_private
    assert query.columns == ()


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("SELECT 1 FROM gaps", True),
        ("SELECT 1 FROM x JOIN gaps USING (y)", True),
        ("SELECT gaps(1)", True),
        ("SELECT gaps FROM x", False),
        ("SELECT x.gaps FROM x -- FROM gaps", False),
        ("SELECT 'FROM gaps'", False),
        ("SELECT 1 FROM gaps_of_mine", False),
    ],
)
def test_use_of_a_relation_is_seen_in_code_alone(tmp_path: Path, sql: str, used: bool) -> None:
    query = parse(write(tmp_path, f"-- _x: things (one row).\nCREATE VIEW _x AS {sql};\n", "_x"))
    assert ("gaps" in query.used) is used
