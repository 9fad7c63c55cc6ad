"""The page and the Markdown of a week, by arithmetic from the example."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.report.html import Page, data
from tests.report.reading import rendered
from tests.report.weekly.example import (
    chat,
    code,
    empty,
    goal,
    kept,
    promise,
    single,
    weekly,
)
from tokengap.report.chart_files import chart_files
from tokengap.report.csv_files import csv_files
from tokengap.report.markdown import markdown
from tokengap.report.page import page
from tokengap.report.section import Section, Table
from tokengap.report.weekly.whole import compose
from tokengap.weekly.model import Weekly

TITLES = [
    "Promises, and what to do",
    "How each promise was kept",
    "Day by day, and week by week",
    "Error budgets",
    "Burn rates",
    "Against the week before",
    "Hidden stalls",
    "Where misses gather",
    "Worst requests",
    "Coverage",
    "Late and excluded data",
    "Goodput and cost, twelve weeks",
    "Capacity headroom",
    "What limits these numbers",
    "Definitions",
]


@pytest.fixture(scope="module")
def shown() -> Page:
    return Page(page(compose(weekly())))


def section(week: Weekly, name: str) -> Section:
    (found,) = (each for each in compose(week).sections if each.name == name)
    return found


def test_sections_come_in_the_order_of_questions(shown: Page) -> None:
    verdict, *titles = shown.texts("h2")
    assert verdict == "6 of 7 promises kept; missed: chat worst gap (98.2 %, promised 99 %)."
    assert titles == TITLES


def test_the_first_table_answers_in_a_row_a_promise(shown: Page) -> None:
    rows = shown.section(TITLES[0]).rows
    assert len(rows) == 7
    assert rows[0] == [
        "◆ missed", "chat", "worst gap ≤ 500 ms", "98.2 %", "98.1 to 98.3 %", "99 %",
        "spent 1.1 times", "over 3 h", "worse, -0.88",
    ]  # fmt: skip
    # 4,000 offered, 10 missed; 36 of 80 spent
    assert rows[1][2:7:2] == ["worst gap ≤ 300 ms for class gold", "99.54 to 99.86 %", "55 %"]
    assert [row[-1] for row in rows[4:]] == ["not comparable", "cannot tell", "better, +1.90"]
    classes = [found.get("class") for tag, found, _ in shown.section(TITLES[0]).elements
               if tag == "tr"]  # fmt: skip
    assert classes == [None, "missed", *["kept"] * 6]


def test_the_page_says_of_what_it_is_and_not_when_it_was_made(shown: Page) -> None:
    assert shown.texts("footer") == [shown.texts("footer")[0]]
    assert shown.texts("footer")[0].endswith("week 2026-W48, store version 412")
    assert "generated" not in shown.texts("footer")[0]


def test_the_same_values_give_the_same_bytes() -> None:
    one, two = (compose(weekly(chat(), code())) for _ in range(2))
    assert page(one) == page(two)
    assert markdown(one, {}, {}) == markdown(two, {}, {})


def test_markdown_has_the_tables_of_the_page(shown: Page) -> None:
    told = rendered(markdown(compose(weekly()), {}, {}))
    assert told.rows == shown.rows
    assert told.texts("h2") == TITLES
    assert set(shown.texts("p", "remark")) <= set(told.texts("p"))


def test_the_history_has_each_day_and_week_once(shown: Page) -> None:
    """chat: 4 promises of 7 days and 12 weeks; code: 3 of 6 days, and 1, 8 and 8 weeks."""
    marks = data(shown.chart("history"), "kept")
    drawn = {(row["name"], row["when"]) for row in marks}
    assert len(drawn) == 4 * (7 + 12) + 3 * 6 + 1 + 8 + 8
    (last,) = (r for r in marks if r["name"].startswith("chat · worst gap ≤ 500 ms")
               and r["when"] == "2026-W48" and r["place"] == "hidden")  # fmt: skip
    assert (last["kept"], last["of requests"]) == ("98.2 %", "40\u202f000")
    assert not [r for r in marks if r["when"] == "Sat 28 Nov" and r["name"].startswith("code")]


def test_legends_count_the_marks() -> None:
    found = section(weekly(), "history")
    assert sum(int(key.count) for key in found.legend[:-1]) == 4 * (7 + 12) + 3 * 6 + 1 + 8 + 8


def test_bars_of_a_budget_add_up(shown: Page) -> None:
    """1,100 of 1,600 were spent before, 720 this week: 220 more than there was."""
    pieces = [p for p in data(shown.chart("budgets"), "part") if p["rank"] == 0]
    ends = {piece["part"]: (piece["start"], piece["end"]) for piece in pieces}
    assert ends == {
        "earlier": (0, 1100 / 1600),
        "this week": (1100 / 1600, 1),
        "over": (1, 1820 / 1600),
    }


def test_burn_rates_stand_in_a_row_a_promise(shown: Page) -> None:
    rows = shown.section("Burn rates").rows
    assert rows[0][2:] == ["◆ 3 h over, 22", "5.5", "0.733", "Wed 25 Nov 15:00", "0.4 · 0.5 · 0.6"]
    assert len(rows) == 7


def test_each_reason_of_a_change_is_said_once(shown: Page) -> None:
    whys = shown.section("Against the week before").texts("li")
    assert len(whys) == 4
    assert whys[1] == (
        "Not comparable: code handoff gap (stream). The handoff was measured at another boundary "
        "the week before: relay."
    )


def test_what_is_left_out_is_named(shown: Page) -> None:
    rows = shown.section("Late and excluded data").rows
    assert [row[:3] for row in rows] == [
        ["chat", "late, counted", "1\u202f900"],
        ["chat", "excluded", "85"],
        ["chat", "not offered", "210"],
        ["code", "not offered", "4"],
        ["-", "of no service", "31"],
    ]
    holes = shown.section("Coverage").rows[1][-1]
    assert holes == "Sat 28 Nov 03:00 to 12:00 (9 h); Sun 29 Nov 01:00 to 05:00 (4 h)"


def test_goodput_and_what_it_costs(shown: Page) -> None:
    """38,400 good in 168 hours at 1,344 EUR: 0.0635 a second, 0.035 EUR each."""
    chat_row = shown.section(TITLES[11]).rows[0]
    assert (chat_row[4], chat_row[8]) == ("0.0635", "0.035 EUR")
    titles = data(shown.chart("goodput"), "title", "said")
    assert titles[0] | {"y": 0} == {
        "y": 0, "title": "chat · 0.0635 good/s", "said": "0.035 EUR per good",
    }  # fmt: skip
    assert titles[1]["said"] == "no cost given"


def test_an_interval_by_hours_stands_where_it_is_much_wider(shown: Page) -> None:
    by_hours = [row[8] for row in shown.section("How each promise was kept").rows]
    assert by_hours == ["97.7 to 98.7 %", *[""] * 6]  # 0.4 points wider at either end


def test_every_chart_and_table_has_its_rows() -> None:
    names = dict(csv_files(compose(weekly())))
    assert {"promises", "history", "budgets", "burn", "changes", "worst_requests"} <= names.keys()
    assert names["worst_requests"].count("gateway-2026-11-25") == 3  # the trace of each


def weeks() -> Iterator[tuple[str, Weekly]]:
    yield (
        "no service",
        Weekly(weekly().week, 7, ended=True, services=(), unmatched=0, comparisons=0),
    )
    yield "no request", weekly(empty(), unmatched=0)
    yield "one promise", weekly(single(), unmatched=0)
    yield "one service of two", weekly(single(), empty())


@pytest.mark.parametrize(("name", "week"), list(weeks()))
def test_small_weeks_are_whole(name: str, week: Weekly) -> None:
    report = compose(week)
    titles = [each.title for each in report.sections]
    assert [t for t in TITLES if t in titles] == titles
    assert {"Promises, and what to do", "Coverage", "Definitions"} <= set(titles)
    assert ("Error budgets" in titles) == (name != "no service")
    assert report.banner.tone == ("open" if name.startswith("no") else "kept")
    assert "None" not in markdown(report, {}, {})
    assert "nan" not in page(report).split("<script>")[0]


@pytest.mark.parametrize("week", [weekly(), weekly(single())])
def test_charts_are_drawn_for_files(week: Weekly) -> None:
    for drawn in chart_files(compose(week)):
        assert not isinstance(drawn.picture, Exception), drawn.picture


def test_a_chart_of_many_promises_draws_those_that_were_missed() -> None:
    fine = [promise(goal("ttft", 100 + n, "0.9"), kept(95, 5)) for n in range(14)]
    missed = promise(goal("e2e", 900, "0.9"), kept(50, 50))
    week = weekly(replace(single(), promises=[*fine, missed], daily=()))
    titles = data(section(week, "history").chart or {}, "title")
    assert len(titles) == 12
    assert titles[0]["title"] == "one · end to end ≤ 900 ms"
    assert section(week, "history").notes[-1] == "The tables hold 3 more promises."
    assert len((section(week, "budgets").table or Table((), (), ())).rows) == 15


def test_a_handoff_that_took_long_names_its_boundary() -> None:
    worst = replace(chat().worst[0], statistic="handoff_gap")
    found = section(weekly(replace(code(), worst=[worst])), "worst_requests").table
    assert found is not None
    assert found.rows[0][2] == "handoff gap (stream) 4.2 s"


def test_an_interval_by_hours_has_no_column_where_it_tells_nothing() -> None:
    assert "by hours" in (section(weekly(), "kept").table or Table((), (), ())).columns
    table = section(weekly(single()), "kept").table
    assert table is not None
    assert "by hours" not in table.columns
    assert table.rows[0][-3:] == ["95.0 %", "88.8 to 97.8 %", "90 %"]


def test_bars_begin_with_what_gathers_most(shown: Page) -> None:
    """cause 71 of 0, tenant 62 of 18, worker 50 of 25: the first of each; then code's handoff."""
    bars = data(shown.chart("contributors"), "bad_share", "rank")
    names = {row["rank"]: row["name"] for row in bars}
    assert [names[rank] for rank in sorted(names)] == [
        "chat · cause prefill interference",
        "chat · tenant <b>|@x",
        "chat · worker decode-3",
        "code · handoff gap",
    ]
