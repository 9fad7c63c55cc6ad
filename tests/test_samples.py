"""Comparing sample reports sees what matters and nothing else."""

from pathlib import Path

import pytest

from tests import samples
from tests.samples import AUDITS, ENDINGS, REPORTS, compared


def changed(tmp_path: Path, file: str, old: str, new: str) -> str:
    """What is compared of a report in which a text is another."""
    text = (REPORTS / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), "utf-8")
    return compared(tmp_path / file)


def test_the_date_and_the_scripts_of_a_page_are_not_compared(tmp_path: Path) -> None:
    page = compared(REPORTS / "failure.html")
    assert changed(tmp_path, "failure.html", "generated 2", "generated 1") == page
    assert changed(tmp_path, "failure.html", "<script>", "<script>;") == page
    assert changed(tmp_path, "failure.html", "script-src ", "script-src x") == page


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3 of 30 completed requests", "4 of 30 completed requests"),
        ('<script type="application/json" id="chart-', '<script type="application/json" id="map-'),
        ("605.4 ms", "605.5 ms"),
    ],
)
def test_what_a_page_says_is_compared(tmp_path: Path, old: str, new: str) -> None:
    assert changed(tmp_path, "failure.html", old, new) != compared(REPORTS / "failure.html")


def test_other_files_are_compared_whole(tmp_path: Path) -> None:
    for file in ("failure.md", "failure.json"):
        assert changed(tmp_path, file, "30", "31") != compared(REPORTS / file)


def test_a_report_that_is_missing_or_differs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(name: str, folder: Path) -> None:
        for ending in ENDINGS:
            (folder / f"{name}.{ending}").write_bytes((REPORTS / f"{name}.{ending}").read_bytes())

    for name in AUDITS:
        made(name, tmp_path)
    monkeypatch.setattr(samples, "write", made)
    monkeypatch.setattr(samples, "REPORTS", tmp_path)
    assert samples.outdated() == []
    (tmp_path / "failure.json").unlink()
    (tmp_path / "split.md").write_text("# another\n", "utf-8")
    assert samples.outdated() == ["failure.json", "split.md"]
