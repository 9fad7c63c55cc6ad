from pathlib import Path

import pytest

from tests.report.auditing import MS
from tests.report.reading import csv_rows
from tokengap.report.csv_files import inert


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd", "'+cmd"),
        ("-cmd", "'-cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1+1", "' =1+1"),
        ('"=1+1', "'\"=1+1"),
        ("a;=1+1", "a;'=1+1"),
        ("a\t=1+1", "a\t'=1+1"),
        ("a\n=1+1", "a\n'=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-5", "-5"),
        ("-5 ms", "'-5 ms"),
        ("-", "-"),
        ("a=b", "a=b"),
        ("", ""),
        (-5, -5),
        (-0.5, -0.5),
        (None, None),
    ],
)
def test_only_text_that_a_spreadsheet_would_run_changes(cell: object, written: object) -> None:
    assert inert(cell) == written
    assert type(inert(cell)) is type(cell)


@pytest.fixture
def folder(harmless: Path) -> Path:
    return harmless / "csv"


def test_every_section_with_rows_has_a_file(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} >= {
        "average_against_worst.csv", "gap_survival.csv", "hidden_stalls.csv", "causes.csv",
        "objectives.csv", "latency.csv", "handoff.csv", "data_quality.csv",
    }  # fmt: skip


def test_rows_behind_a_chart_are_values_in_ns(folder: Path) -> None:
    rows = {row["request_id"]: row for row in csv_rows(folder / "average_against_worst.csv")}
    hidden = rows["hidden"]  # (190 + 610) / 20 = 40 ms on average, 610 ms at worst
    assert float(hidden["tpot_low_ns"]) == float(hidden["tpot_high_ns"]) == 40 * MS
    assert hidden["worst_gap_low_ns"] == str(610 * MS)
    assert (hidden["place"], hidden["worst_gap_after_token"]) == ("hidden", "20")
    assert len(rows) == 6


def test_rows_behind_a_table_are_its_values(folder: Path) -> None:
    tpot, worst, whole = csv_rows(folder / "objectives.csv")
    assert (tpot["statistic"], tpot["limit_ns"], tpot["met"]) == ("tpot", str(50 * MS), "3")
    assert (worst["statistic"], worst["missed"]) == ("worst_gap", "3")
    assert (whole["good"], whole["offered"], whole["limit_ns"]) == ("2", "8", "")
    stalls = csv_rows(folder / "hidden_stalls.csv")
    assert [(row["request_id"], row["stall"]) for row in stalls] == [
        ("hidden", "hidden"), ("possible", "possible"),
    ]  # fmt: skip
    pooled = csv_rows(folder / "latency.csv")[-1]
    # 10 + 20 + 10 + 2 + 1 + 1 gaps of completed requests, the longest of them 700 ms
    assert (pooled["statistic"], pooled["basis"], pooled["n"]) == ("gap", "per_gap", "44")
    assert float(pooled["max_low_ns"]) == float(pooled["max_high_ns"]) == 700 * MS
