"""The public Python API against the command line, which tells the same of the same logs."""

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tokengap
from tests.cases.commands import run, strict_json, write_log
from tests.report.auditing import LIMITS, ONE_OF_EACH, request
from tests.report.hostile import NAME, hostile
from tests.report.html import Page
from tokengap.cli.options import _DECLARING, _READING
from tokengap.errors import InputError, QueryError, UnitError, UsageError
from tokengap.report.notebook import Options
from tokengap.slo import parse_limit

ASKED = {"tpot": "50ms", "worst_gap": "500ms"}
MS = 1_000_000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("notebook") / "log.jsonl", ONE_OF_EACH)


@pytest.fixture(scope="module")
def result(log: Path) -> Iterator[tokengap.AuditResult]:
    with tokengap.audit(log, ASKED) as audited:
        yield audited


def test_all_that_is_public_is_there_and_nothing_else() -> None:
    assert tokengap.__all__ == [
        "AuditResult",
        "TokengapError",
        "__version__",
        "audit",
        "ingest",
        "query",
    ]
    assert all(hasattr(tokengap, name) for name in tokengap.__all__)
    assert dir(tokengap) == tokengap.__all__
    assert not hasattr(tokengap, "nothing_of_the_kind")
    assert all(getattr(tokengap, name).__doc__ for name in tokengap.__all__)


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ("duckdb", "polars", "altair", "pyarrow", "click", "jinja2")
    code = f"import sys, tokengap; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_options_are_those_of_the_command_line() -> None:
    def command() -> None: ...

    for option in (*_READING, *_DECLARING):
        option(command)
    options = {p.opts[0].removeprefix("--").replace("-", "_") for p in _added(command)}
    assert options == Options.__required_keys__ | Options.__optional_keys__


def _added(command: Any) -> list[Any]:
    added: list[Any] = command.__click_params__
    return added


def test_the_json_is_the_same_but_for_where_limits_were_set(
    result: tokengap.AuditResult, log: Path
) -> None:
    assert result.to_dict() == strict_json(run("audit", str(log), *LIMITS, "--json"))


def test_counts_and_verdict(result: tokengap.AuditResult) -> None:
    counts = result.counts
    # Good: fine. Undecided and possible are unknown, the one-token answer meets no limit it has.
    assert {k: counts[k] for k in ("offered", "completed", "failed", "good")} == {
        "offered": 8,
        "completed": 7,
        "failed": 1,
        "good": 2,
    }
    assert (counts["hidden_stalls"], counts["possible_stalls"]) == (1, 1)
    assert "1 of 7 completed requests stalled" in result.verdict
    assert repr(result) == f"<tokengap audit of log: {result.verdict}>"


def test_without_limits_stalls_are_not_counted_as_none(log: Path) -> None:
    with tokengap.audit(log) as unjudged:
        counts = unjudged.counts
        assert counts["good"] is counts["hidden_stalls"] is counts["possible_stalls"] is None
        assert unjudged.hidden_stalls.is_empty()
        assert unjudged.objectives.is_empty()


def test_frames_hold_what_the_log_says(result: tokengap.AuditResult) -> None:
    worst = dict(result.requests.select("request_id", "worst_gap_ns").iter_rows())
    assert worst["hidden"] == 610 * MS
    assert worst["single"] is None
    stalls = result.hidden_stalls
    assert stalls.select("request_id", "stall", "tpot_low_ns").rows() == [
        ("hidden", "hidden", 40 * MS),  # (19 · 10 + 610) / 20
        ("possible", "possible", pytest.approx(600 * MS / 19)),
    ]
    met = dict(result.objectives.select("statistic", "missed").iter_rows())
    assert met == {"tpot": 2, "worst_gap": 3}
    assert result.percentiles.filter(statistic="ttft")["max_high_ns"].to_list() == [100 * MS]
    good = result.verdicts.filter("good")["request_id"]
    assert sorted(good) == ["fine", "single"]


def test_sums_are_integers(result: tokengap.AuditResult) -> None:
    # Beyond the steady step of each: 600, 600, 700 and 600 ms at the very most.
    lost = result.causes["excess_ns"]
    assert lost.dtype == pl.Int64
    assert 0 < lost.sum() <= (610 + 600 + 700 + 600) * MS


def test_every_query_of_the_library_can_be_asked(result: tokengap.AuditResult, log: Path) -> None:
    place = ("request_id", "gap_index")
    rows = strict_json(run("query", "gaps", str(log), "--json"))
    rows.sort(key=lambda row: [row[name] for name in place])
    assert result.query("gaps").sort(place).to_dicts() == rows
    with pytest.raises(QueryError, match="did you mean gaps"):
        result.query("gasp")
    with pytest.raises(QueryError, match="takes no parameters"):
        result.query("gaps", ttft="80ms")
    with pytest.raises(QueryError, match="its own limits"):
        result.query("hidden_stalls", objectives="tpot=1ms")


def test_charts_are_altair_objects_by_section(result: tokengap.AuditResult) -> None:
    charts = result.charts
    assert {"average_against_worst", "gap_survival", "causes"} <= charts.keys()
    spec = charts["average_against_worst"].to_dict()
    assert spec["title"]["text"] == "Average against worst gap"
    assert "610" in json.dumps(spec)


def test_the_piece_of_html_shows_verdict_and_tables(result: tokengap.AuditResult) -> None:
    page = Page(result._repr_html_())
    assert page.texts("p", "says") == [result.verdict]
    assert page.texts("summary") == [
        "Objectives",
        "Hidden stalls",
        "Percentiles",
        "Why gaps were long",
    ]


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    log = [request(f"r{n}", [10] * 19 + [600 + n]) for n in range(25)]
    with tokengap.audit(write_log(tmp_path / "log.jsonl", log), ASKED) as audited:
        shown = audited._repr_html_()
    assert "r24" in shown
    assert "r14" not in shown  # ten of 25: r24 to r15
    assert "and 15 more" in shown
    assert "* rests on fewer than ten samples" in shown  # p99 of 25


def test_text_of_a_log_is_inert_in_a_notebook(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", hostile())
    with tokengap.audit(log, ASKED, trace=NAME) as audited:
        shown = audited._repr_html_()
        specs = [chart.to_dict() for chart in audited.charts.values()]
    assert specs
    assert "<script" not in shown.lower()
    assert "<img" not in shown.lower()
    assert NAME not in shown  # it is there, escaped


def test_reports_are_saved_by_their_ending(result: tokengap.AuditResult, tmp_path: Path) -> None:
    for ending in ("html", "md", "json"):
        result.save(tmp_path / f"audit.{ending}")
    assert strict_json((tmp_path / "audit.json").read_text("utf-8")) == result.to_dict()
    assert (tmp_path / "audit.md").read_text("utf-8") == result.markdown()
    assert Page((tmp_path / "audit.html").read_text("utf-8")).charts
    with pytest.raises(UsageError, match=r"must end in \.html, \.md, \.json"):
        result.save(tmp_path / "audit.pdf")
    with pytest.raises(UsageError, match="cannot be written"):
        result.save(tmp_path / "nowhere" / "audit.md")


def test_closed_it_keeps_what_was_asked_for(log: Path) -> None:
    with tokengap.audit(log, ASKED) as audited:
        before = audited.requests
    audited.close()
    assert audited.requests is before
    assert audited.verdict in audited._repr_html_()
    assert audited.to_dict()["hidden_stalls"]["count"] == 1
    with pytest.raises(UsageError, match="closed"):
        audited.query("gaps")
    with pytest.raises(UsageError, match="closed"):
        audited.html()


def test_what_was_opened_is_given_back_with_the_last_reference(log: Path) -> None:
    audited = tokengap.audit(log, ASKED)
    con, end = audited._con, audited._end
    del audited
    gc.collect()
    assert not end.alive
    with pytest.raises(Exception, match="closed"):
        con.execute("SELECT 1")


def test_limits_come_from_values_files_and_objectives(log: Path, tmp_path: Path) -> None:
    slo = tmp_path / "slo.toml"
    slo.write_text('[limits]\ntpot = "50ms"\nworst_gap = "1s"\n', "utf-8")
    with tokengap.audit(log, {"worst_gap": "500ms"}, slo=slo) as audited:
        assert audited.counts["hidden_stalls"] == 1
    with tokengap.audit(log, [parse_limit("tpot=50ms"), parse_limit("worst_gap=700ms")]) as audited:
        assert audited.counts["hidden_stalls"] == 0  # 610 ms at worst
    with pytest.raises(UnitError, match=r"limits\.tpot = 50 has no unit"):
        tokengap.audit(log, {"tpot": 50})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="did you mean tpot"):
        tokengap.audit(log, {"tpto": "50ms"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"vantage": "moon"}, "expected one of client, gateway, engine"),
        ({"last_prefill_token": -1}, "expected 0 or more"),
        ({"window": "10s"}, "expected START..END"),
        ({"map": "columns.toml"}, "only a table has a map"),
    ],
)
def test_impossible_options_are_refused(log: Path, options: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        tokengap.audit(log, **options)


def test_an_option_that_there_is_not_is_named(log: Path) -> None:
    with pytest.raises(TypeError, match="no option is called same_clocks; there are format"):
        tokengap.audit(log, same_clocks=True)  # type: ignore[call-arg]


def test_one_query_over_logs(log: Path) -> None:
    found = tokengap.query("hidden_stalls", [log], limits=ASKED)
    assert found["request_id"].to_list() == ["hidden", "possible"]
    # 10 ms a token is the least of any: all eight miss 5 ms, but for the one without an average.
    within = tokengap.query("objective_attainment", log, {"objectives": "tpot=5ms"})
    assert within.select("limit_ns", "met", "missed").rows() == [(5 * MS, 0, 7)]


def test_a_folder_is_read_and_what_is_left_out_is_warned_of(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", ONE_OF_EACH)
    (tmp_path / "notes.txt").write_text("no log\n", "utf-8")
    with pytest.warns(UserWarning, match=r"left out: .*notes\.txt"):
        tokengap.audit(tmp_path).close()


def test_ingest_says_what_became_of_each_source(log: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = tokengap.ingest(log, store)
    assert first.select("names", "action", "streams").rows() == [(str(log), "loaded", 8)]
    assert tokengap.ingest(log, store)["action"].to_list() == ["already loaded"]
    with tokengap.audit(store, ASKED) as audited:
        assert audited.counts["hidden_stalls"] == 1


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        tokengap.audit(tmp_path / "nothing.jsonl")
