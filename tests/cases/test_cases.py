import re
from pathlib import Path

from tests.cases.convert import DATA

HERE = Path(__file__).parent


def test_every_case_has_one_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    tested = re.findall(r"^def test_(\d\d)_", "\n".join(tests), re.MULTILINE)
    assert sorted(tested) == sorted(path.name[:2] for path in DATA.glob("*.json"))


def test_cases_left_for_later_are_not_here() -> None:
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    later = set(re.findall(r"^\| (\d\d) \|", readme, re.MULTILINE))
    assert later
    assert later.isdisjoint(path.name[:2] for path in DATA.glob("*.json"))
