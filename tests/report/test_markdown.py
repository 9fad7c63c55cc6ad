import re
from pathlib import Path

import pytest

from tests.cases.convert import Record
from tests.report.auditing import LIMITS, ONE_OF_EACH, text_of
from tests.report.html import Page
from tests.report.reading import rendered
from tokengap.report.markdown import text


@pytest.mark.parametrize(
    "said",
    [
        "23 of 60 completed requests stalled (average TPOT ≤ 50 ms met).",
        "n 11\u202f823 gaps, per gap · client, times from sent · window 62.2 s, by start",
        "13.4 ms to 14.3 ms", "p50", "n/a", "-", "q · (n - 1).", "95 % interval",
        "the user's own; one-token answers", "+5", "r12",
    ],
)  # fmt: skip
def test_words_and_numbers_stay_as_they_are(said: str) -> None:
    assert text(said) == said


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("<b>", "`<b>`"),
        ("<0.1 %", "&lt;0.1 %"),
        ("1.45 s*", r"1.45 s\*"),
        ("(run_a, run_b).", "(`run_a`, `run_b`)."),
        ("--limit tpot=50ms", "`--limit tpot=50ms`"),
        ("@everyone", "`@everyone`"),
        ("fixes #12", "fixes `#12`"),
        ("GH-12", "`GH-12`"),
        ("www.example.org", "`www.example.org`"),
        ("https://example.org", "`https://example.org`"),
        (":smile:", "`:smile`:"),
        ("0123456789abcdef", "`0123456789abcdef`"),
        ("a|b", "`a`&#124;`b`"),
        ("|", "&#124;"),
        ("a`b", "``a`b``"),
        ("`", "`` ` ``"),
        ("$x$", "`$x$`"),
        ("a\nb\x1b[2J", "`a\ufffdb\ufffd[2J`"),
    ],
)
def test_what_could_take_effect_becomes_code(said: str, written: str) -> None:
    assert text(said) == written
    cell = rendered(f"| head |\n| --- |\n| {written} |\n").rows[0][0]
    assert cell.split() == re.sub("[\n\x1b]", "\ufffd", said).split()


def test_tables_are_those_of_the_page(one_of_each: tuple[Page, Record], harmless: Path) -> None:
    page, _ = one_of_each
    told = rendered((harmless / "audit.md").read_text("utf-8"))
    assert told.rows == page.rows
    assert told.texts("th") == page.texts("th")
    assert told.texts("h1") == ["tokengap audit: log"]
    assert told.texts("h2") == page.texts("h2")[1:]  # the first is the verdict, here a sentence


def test_what_the_page_says_is_said(one_of_each: tuple[Page, Record], harmless: Path) -> None:
    page, _ = one_of_each
    told = rendered((harmless / "audit.md").read_text("utf-8"))
    paragraphs = told.texts("p")
    assert page.texts("h2")[0] in paragraphs
    assert set(page.texts("p", "scope")) <= set(paragraphs)
    assert set(page.texts("p", "remark")) <= set(paragraphs)
    items = told.texts("li")
    kept = "Kept: 25 % (2 good of 8 offered; 95 % interval 7.1 % to 59.1 %"
    assert [item for item in items if item.startswith(kept)]
    assert set(page.section("Data quality").texts("li")) <= set(items)
    assert "possible hidden stall: the log does not decide one of the two verdicts: 1" in items


def test_charts_are_pictures_where_they_are_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "my charts"
    told = tmp_path / "told" / "audit.md"
    told.parent.mkdir()
    text_of(tmp_path, ONE_OF_EACH, *LIMITS, "--md", str(told), "--charts", str(folder))
    page = rendered(told.read_text("utf-8"))
    shown = [str(found["src"]) for tag, found, _ in page.elements if tag == "img"]
    assert "../my%20charts/average_against_worst.png" in shown
    for address in shown:
        assert (told.parent / address.replace("%20", " ")).is_file()


def test_without_pictures_the_text_says_so(tmp_path: Path) -> None:
    told = text_of(tmp_path, ONE_OF_EACH, *LIMITS, "--md", "-")
    assert told.count("This text has no charts: `--charts DIR` draws them into it.") == 1
    assert "No chart" not in told
    assert "![" not in told
