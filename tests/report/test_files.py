import stat
from pathlib import Path

import pytest

from tokengap.errors import UsageError
from tokengap.report.files import replace_file, write_file


def test_a_replaced_file_is_another_one_with_usual_rights(tmp_path: Path) -> None:
    """A reader that has it open keeps the old one; others may read it as any file written here."""
    path, usual = tmp_path / "week.prom", tmp_path / "usual"
    write_file(path, "old")
    write_file(usual, "")
    with path.open() as reader:
        replace_file(path, "new µ")
        assert reader.read() == "old"
    assert path.read_text("utf-8") == "new µ"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert set(tmp_path.iterdir()) == {path, usual}


def test_what_cannot_be_replaced_stays_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "week.prom"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"week\.prom: cannot be written \(Is a directory\)"):
        replace_file(folder, "new")
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        replace_file(tmp_path / "none" / "week.prom", "new")
