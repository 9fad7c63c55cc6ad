"""Where `tokengap audit` writes, and what it refuses before it starts."""

from pathlib import Path

import pytest

from tests.cli.running import tokengap
from tokengap.report import render

LINE = '{"request_id":"a","sent_ns":0,"times_ns":[100000000,110000000,120000000]}\n'
FILES = ("--html", "--md", "--perfetto")
FOLDERS = ("--csv", "--charts")


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.jsonl"
    path.write_text(LINE, "utf-8")
    return str(path)


@pytest.mark.parametrize("option", FILES)
def test_a_file_is_not_overwritten_without_force(option: str, log: str, tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("mine", "utf-8")
    refused = tokengap("audit", log, option, str(file))
    assert refused.code == 2
    assert "--force" in refused.err
    assert file.read_text("utf-8") == "mine"
    assert tokengap("audit", log, option, str(file), "--force").code == 0
    assert "tokengap" in file.read_text("utf-8")


@pytest.mark.parametrize("option", FILES)
def test_a_file_can_be_standard_output_instead_of_the_summary(option: str, log: str) -> None:
    ran = tokengap("audit", log, option, "-")
    assert ran.code == 0
    assert ran.out.startswith(("<!doctype html>", "# tokengap audit: ", '{"displayTimeUnit"'))
    assert "no limits given; try" not in ran.out


@pytest.mark.parametrize("option", FOLDERS)
def test_a_folder_with_files_is_left_alone_without_force(
    option: str, log: str, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    mine = folder / "mine.txt"
    mine.write_text("mine", "utf-8")
    refused = tokengap("audit", log, option, str(folder))
    assert refused.code == 2
    assert "--force" in refused.err
    assert tokengap("audit", log, option, str(folder), "--force").code == 0
    assert mine.read_text("utf-8") == "mine"


@pytest.mark.parametrize("option", FOLDERS)
def test_what_cannot_be_a_folder_is_refused(option: str, log: str, tmp_path: Path) -> None:
    for path in ("-", log, str(tmp_path / "no" / "such")):
        ran = tokengap("audit", log, option, path)
        assert ran.code == 2, path
    assert "there are several files" in tokengap("audit", log, option, "-").err


@pytest.mark.parametrize(
    "options",
    [("--html", "-", "--md", "-"), ("--md", "-", "--json")],
)
def test_only_one_output_is_printed(options: tuple[str, ...], log: str) -> None:
    ran = tokengap("audit", log, *options)
    assert ran.code == 2
    assert "standard output" in ran.err


def test_two_outputs_do_not_share_a_file(log: str, tmp_path: Path) -> None:
    file = str(tmp_path / "out")
    ran = tokengap("audit", log, "--html", file, "--md", file)
    assert ran.code == 2
    assert "the same file" in ran.err


def test_nothing_is_written_where_the_log_cannot_be_read(tmp_path: Path) -> None:
    paths = {option: str(tmp_path / option.strip("-")) for option in (*FILES, *FOLDERS)}
    options = [part for option in paths.items() for part in option]
    assert tokengap("audit", str(tmp_path / "missing"), *options).code == 3
    assert list(tmp_path.iterdir()) == []


def test_all_outputs_can_share_a_folder_that_is_empty(log: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    options = [part for option in FOLDERS for part in (option, str(folder))]
    assert tokengap("audit", log, *options).code == 0
    assert {"latency.csv", "gap_survival.csv", "gap_survival.png"} <= {
        path.name for path in folder.iterdir()
    }


def test_a_chart_that_is_not_drawn_is_said_with_the_reason(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "BOUNDS", render.Bounds(memory_bytes=64 * 2**20, time_s=120))
    ran = tokengap("audit", log, "--charts", str(tmp_path / "out"))
    assert ran.code == 0
    assert "gap_survival: the renderer needed more than 64 MiB of memory" in ran.err
    assert (tmp_path / "out" / "gap_survival.vl.json").is_file()
