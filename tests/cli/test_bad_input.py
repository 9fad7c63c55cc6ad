"""Whatever the input holds: a clear error or a quarantined line, never a traceback."""

import json
from pathlib import Path

import pytest

from tests.cli.running import SAMPLES, tokengap

GOOD = '{"request_id":"a","index":0,"t_ns":100}\n{"request_id":"a","index":1,"t_ns":200}\n'


def line(**fields: object) -> str:
    return json.dumps({"request_id": "a", "index": 2, "t_ns": 300} | fields) + "\n"


def rejects(path: Path) -> list[tuple[int, str, str | None]]:
    rows = tokengap("query", "rejects", str(path), "--json").json()
    return [(row["line"], row["reason"], row["field"]) for row in rows]


def gaps(path: Path) -> list[int]:
    rows = tokengap("query", "gaps", str(path), "--json").json()
    return [row["gap_ns"] for row in sorted(rows, key=lambda row: row["gap_index"])]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_empty_file_is_said_to_be_empty(log: Path) -> None:
    log.touch()
    ran = tokengap("audit", str(log))
    assert ran.code == 3
    assert "is empty" in ran.err


def test_binary_file_is_said_to_be_binary(log: Path) -> None:
    log.write_bytes(bytes(range(256)) * 8)
    ran = tokengap("audit", str(log))
    assert ran.code == 3
    assert "binary data" in ran.err


def test_missing_file_is_named(log: Path) -> None:
    ran = tokengap("audit", str(log))
    assert ran.code == 3
    assert f"{log}: no such file" in ran.err


def test_format_named_wrongly_says_what_was_expected(log: Path) -> None:
    log.write_text(GOOD, "utf-8")
    ran = tokengap("audit", str(log), "--format", "aiperf-raw")
    assert ran.code == 3
    assert "AIPerf profile_export_raw.jsonl" in ran.err
    assert f"{log}:1" in ran.err


def test_unknown_format_shows_what_was_found_and_what_was_wanted(log: Path) -> None:
    log.write_text('{"request_id": "a", "time": 1}\n', "utf-8")
    ran = tokengap("audit", str(log))
    assert ran.code == 3
    assert "request_id, time" in ran.err
    assert "t_ns" in ran.err


def test_folder_without_logs_is_an_error_and_lists_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", "utf-8")
    ran = tokengap("audit", str(tmp_path))
    assert ran.code == 3
    assert "notes.txt" in ran.err


def test_torn_last_line_is_quarantined(log: Path) -> None:
    log.write_text(GOOD + '{"request_id":"a","index":2,"t_n', "utf-8")
    assert gaps(log) == [100]
    assert [row[0] for row in rejects(log)] == [3]


def test_bad_line_in_the_middle_costs_only_itself(log: Path) -> None:
    log.write_text(GOOD + "x\n" + line(), "utf-8")
    assert gaps(log) == [100, 100]
    assert [row[0] for row in rejects(log)] == [3]


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ('{"request_id":"a","index":2,"t_ns":300,"t_ns":400}\n', "t_ns"),
        (line(t_ns=300.5), "t_ns"),
        (line(t_ns=300.0), "t_ns"),
        (line(t_ns=True), "t_ns"),
        (line(t_ns="300"), "t_ns"),
        (line(t_ns=2**63), "t_ns"),
        (line(t_ns=-(2**62)), "t_ns"),
        (line(t_ns=None), "t_ns"),
        (line(index=2.0), "index"),
        (line(n_tokens=0), "n_tokens"),
        (line(kind="tokn"), "kind"),
    ],
)
def test_untrue_value_is_quarantined_with_its_field(log: Path, bad: str, field: str) -> None:
    log.write_text(GOOD + bad, "utf-8")
    assert gaps(log) == [100]
    ((number, reason, named),) = rejects(log)
    assert (number, named) == (3, field)
    assert field in reason


def test_negative_gap_is_kept_and_costs_the_worst_gap(log: Path) -> None:
    log.write_text(GOOD + line(t_ns=50), "utf-8")
    assert gaps(log) == [100, -150]
    (row,) = tokengap("query", "request_latency", str(log), "--json").json()
    assert row["non_monotonic"] is True
    assert row["worst_gap_ns"] is row["tpot_ns"] is None
    assert row["worst_gap_reason"] == "non_monotonic"


def test_shuffled_events_are_put_in_order(log: Path) -> None:
    log.write_text("".join(reversed(GOOD.splitlines(keepends=True))), "utf-8")
    assert gaps(log) == [100]


def test_repeated_event_counts_once(log: Path) -> None:
    log.write_text(GOOD + GOOD, "utf-8")
    assert gaps(log) == [100]
    (row,) = tokengap("query", "streams", str(log), "--json").json()
    assert "duplicate_dropped" in row["quality"]


def test_two_files_with_one_key_are_refused_with_a_way_out(tmp_path: Path) -> None:
    sample = SAMPLES / "vllm-bench" / "bench_http400.json"
    text = json.loads(sample.read_text("utf-8"))
    for number, name in enumerate(("one", "two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(text | {"n": number}), "utf-8")
    ran = tokengap("audit", str(tmp_path))
    assert ran.code == 3
    assert "run" in ran.err
    assert "--trace" in ran.err
    assert str(tmp_path / "one" / "run.json") in ran.err
    assert str(tmp_path / "two" / "run.json") in ran.err


def test_text_that_looks_like_markup_is_shown_as_it_is(log: Path) -> None:
    log.write_text(GOOD.replace('"a"', '"[bold red]x[/]"'), "utf-8")
    assert "[bold red]x[/]" in tokengap("audit", str(log)).out
    assert "[bold red]x[/]" in tokengap("query", "streams", str(log)).out
