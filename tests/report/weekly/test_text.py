"""A week on a terminal."""

from tests.report.weekly.example import single, weekly
from tokengap.report.weekly.summary import paragraph
from tokengap.report.weekly.text import weekly_text


def test_the_summary_stands_on_top_and_each_service_has_a_table() -> None:
    lines = weekly_text(weekly()).splitlines()
    assert lines[0] == paragraph(weekly())
    assert [line for line in lines if line in {"chat", "code", "What to do"}] == [
        "chat", "code", "What to do",
    ]  # fmt: skip
    (missed,) = (line for line in lines if "missed " in line and "500 ms" in line and "%" in line)
    assert missed.split("  ")[0:2] == ["", "◆ missed"]
    assert lines[-1] == "Store version 412"


def test_facts_follow_the_table() -> None:
    told = weekly_text(weekly())
    assert "  40\u202f000 offered requests, 166 of 166 hours with data\n" in told
    assert "  640 hidden stalls (1.6 % of completed)\n" in told  # of 39,500


def test_a_quiet_week_has_no_list() -> None:
    assert "What to do" not in weekly_text(weekly(single(), unmatched=0))
