"""The relations that judge services day by day, by hand."""

from itertools import accumulate

import pyarrow as pa
import pytest

from tests.queries.given import MS, Library, stream
from tests.queries.oracle_promised import DAY_NS, HOUR_NS, Held, Members
from tests.queries.promising import NOBODY, at, judged, show
from tokengap.store.promised import WORST_GAP_CAUSES, bind_causes

pytestmark = pytest.mark.usefixtures("nothing_promised_afterwards")


def test_each_day_has_its_own_limit(library: Library) -> None:
    """Gaps of 20 ns: a limit of 20 on day 3, of 19 on day 4, and none on day 5."""
    rows = [at(day, 23, f"on{day}") for day in (2, 3, 4, 5)]
    found = judged(
        library,
        rows,
        Held(0, 3, limits={"worst_gap": 20}),
        Held(0, 4, limits={"worst_gap": 19}),
        Held(0, 5),
    )
    assert {name: (row["worst_gap"], row["good"], row["day"]) for name, row in found.items()} == {
        "on3": ("met", True, 3), "on4": ("missed", False, 4), "on5": (None, True, 5),
    }  # fmt: skip
    assert found["on4"]["hour"] == 4 * 24 + 23
    assert found["on4"]["furthest"] == {
        "ratio": 20 / 19, "statistic": "worst_gap", "value_ns": 20.0, "limit_ns": 19,
    }  # fmt: skip


def test_midnight_is_the_next_day(library: Library) -> None:
    rows = [at(3, name="first"), at(3, name="last") | {"sent_ns": 3 * DAY_NS - 1}]
    found = judged(library, rows, Held(0, 2), Held(0, 3))
    assert {name: row["day"] for name, row in found.items()} == {"first": 3, "last": 2}


def test_whom_a_promise_is_about_is_told_by_columns(library: Library) -> None:
    """NULL is a value like any other; what is nobody's is left out."""
    rows = [
        at(1, name="a", tenant="acme"), at(1, name="b"), at(1, name="c", tenant="acme", model="m"),
        at(1, name="d", slo_class="gold", deployment="eu"),
    ]  # fmt: skip
    members: Members = {(None, None, "acme", None): 7, NOBODY: 8, ("eu", None, None, "gold"): 9}
    held = [Held(number, 1, limits={"worst_gap": number + 12}) for number in (7, 8, 9)]
    found = judged(library, rows, *held, members=members)
    assert {name: (row["profile"], row["worst_gap"]) for name, row in found.items()} == {
        "a": (7, "missed"), "b": (8, "met"), "d": (9, "met"),
    }  # fmt: skip


def test_a_request_without_a_date_has_the_limits_of_no_day(library: Library) -> None:
    found = judged(
        library,
        [stream("mono", [10, 30]), at(0, name="dated")],
        Held(0, None, limits={"worst_gap": 20}),
        Held(0, 0, limits={"worst_gap": 19}),
    )
    assert (found["mono"]["worst_gap"], found["mono"]["day"], found["mono"]["hour"]) == (
        "met", None, None,
    )  # fmt: skip
    assert found["dated"]["worst_gap"] == "missed"


def test_a_vantage_is_judged_by_itself(library: Library) -> None:
    """The client saw gaps of 20, the engine of 40: two rows, of which one is asked for."""
    rows = [
        at(1, name="a"),
        at(1, name="a", times=(10, 50), vantage="engine", clock="e") | {"arrival_ns": DAY_NS},
    ]
    for vantage, gap_ns in (("client", 20), ("engine", 40)):
        found = judged(library, rows, Held(0, 1, vantage))
        assert found["a"]["worst_gap_ns"] == gap_ns
    assert judged(library, rows, Held(0, 1, "gateway")) == {}


def test_of_several_answers_the_worst_counts(library: Library) -> None:
    rows = [
        at(1, name="a", times=(10, 30), choice=0, prompt_tokens=5),
        at(1, name="a", times=(10, 50, 51), choice=1, prompt_tokens=5),
        at(1, name="b", times=(10, 30)),
    ]
    found = judged(library, rows, Held(0, 1, limits={"worst_gap": 30, "ttft": 10}))
    a = found["a"]
    assert (a["worst_gap"], a["ttft"], a["offered"], a["good"]) == ("missed", "met", True, False)
    assert (a["worst_gap_ns"], a["ttft_ns"], a["output_tokens"], a["prompt_tokens"]) == (
        40, 10, 5, 5,
    )  # fmt: skip
    assert a["furthest"]["value_ns"] == 40
    assert found["b"]["good"]


def test_a_retry_is_judged_from_its_first_attempt(library: Library) -> None:
    """Sent at 0 and again at 100, first token 10 later: 110. It is one request."""
    rows = [
        at(1, name="a", status="failed"),
        at(1, name="a", times=(110, 130), attempt=1) | {"sent_ns": DAY_NS + 100},
    ]
    found = judged(library, rows, Held(0, 1, limits={"ttft": 110, "worst_gap": 20}))
    assert (found["a"]["ttft_ns"], found["a"]["ttft"], found["a"]["good"]) == (110, "met", True)
    assert found["a"]["began_ns"] == DAY_NS + 100


def test_who_left_counts_only_after_a_miss(library: Library) -> None:
    """Both left after one token: one had waited 50 ns for the next, and one 10."""
    rows = [
        at(1, name=name, times=(10,), status="cancelled") | {"stream_close_ns": DAY_NS + close}
        for name, close in (("patient", 60), ("hasty", 20))
    ]
    rows.append(at(1, name="running", status="in_flight"))
    found = judged(library, rows, Held(0, 1, limits={"worst_gap": 30}))
    assert {name: (row["worst_gap"], row["offered"]) for name, row in found.items()} == {
        "patient": ("missed", True), "hasty": ("not_applicable", False),
        "running": ("not_applicable", False),
    }  # fmt: skip
    (hour,) = library.rows("promised_hours")
    assert (hour["offered"], hour["not_offered"], hour["good"]) == (1, 2, 0)


def test_an_excluded_span_is_half_open_and_of_its_day(library: Library) -> None:
    span = (DAY_NS + HOUR_NS, DAY_NS + 2 * HOUR_NS)
    rows = [at(1, hour, f"h{hour}", prompt_tokens=8) for hour in (0, 1, 2)]
    rows.append(at(1, 1, "last") | {"sent_ns": span[1] - 1})
    found = judged(library, rows, Held(0, 1, limits={"worst_gap": 19}, excluded=[span]))
    assert {name for name, row in found.items() if row["excluded"]} == {"h1", "last"}
    assert sum(row["offered"] for row in library.rows("promised_hours")) == 2
    assert sum(row["applies"] for row in library.rows("promised_cells()")) == 4  # and good
    assert {row["request_id"] for row in library.rows("promised_worst")} == {"h0", "h2"}
    assert sum(row["offered"] for row in library.rows("promised_places")) == 2
    # The machines ran all the same: 3 prompts of 8 tokens, and 4 answers of 2.
    (work,) = library.rows("promised_work")
    assert (work["requests"], work["work_tokens"]) == (4, 32)


def test_a_hidden_stall_is_counted_in_its_hour(library: Library) -> None:
    """Eight gaps of 10 and one of 80: 160 / 9 on average."""
    steady = tuple(range(10, 100, 10))
    rows = [at(1, 5, "stalled", (*steady, 170)), at(1, 5, "steady", steady)]
    show(library, rows, {NOBODY: 3}, [Held(3, 1, limits={"tpot": 20, "worst_gap": 50})])
    (hour,) = library.rows("promised_hours")
    assert (hour["hour"], hour["completed"], hour["hidden"], hour["possible"]) == (29, 2, 1, 0)
    assert hour["worst_gap"] == {"met": 1, "missed": 1, "unknown": 0}
    assert hour["ttft"] == {"met": 0, "missed": 0, "unknown": 0}


def test_cells_are_of_like_lengths(library: Library) -> None:
    """Prompts by 2^(1/4): 100 and 107 lie in one bin, 108 (2^6.75 = 107.6) in the next."""
    rows = [at(1, name=str(n), prompt_tokens=n) for n in (100, 107, 108)]
    show(library, rows, {NOBODY: 0}, [Held(0, 1, limits={"worst_gap": 20 * MS})])
    found = [row for row in library.rows("promised_cells()") if row["statistic"] == "worst_gap"]
    assert sorted((row["prompt_bin"], row["applies"], row["output_bin"]) for row in found) == [
        (26, 2, 2), (27, 1, 2),
    ]  # fmt: skip
    # A gap of 20 ns counts as 1 µs, whose logarithm of ns is 6.9078.
    assert sorted(round(row["log_sum"], 4) for row in found) == [6.9078, 13.8155]


def test_values_that_are_not_known_are_in_no_sum(library: Library) -> None:
    """Two answers of 2 tokens in one block: a gap of 2 µs, and one that nobody saw."""
    unseen = at(1, name="unseen") | {"gaps_ns": None, "granularity": "aggregate"}
    show(
        library, [at(1, times=(10, 2010)), unseen], {NOBODY: 0}, [Held(0, 1, limits={"tpot": 2000})]
    )
    (cell,) = [row for row in library.rows("promised_cells()") if row["statistic"] == "tpot"]
    assert (cell["applies"], cell["valued"], cell["log_sum"]) == (2, 1, pytest.approx(7.6009))


def test_of_a_value_at_most_twice_the_limit_counts(library: Library) -> None:
    """Gaps of 30 ms and of 90 ms beside a limit of 20 ms: 30 and 40 ms in ns, 17.2167 + 17.5044."""
    rows = [at(1, name=str(gap), times=(10, 10 + gap * MS)) for gap in (30, 90)]
    show(library, rows, {NOBODY: 0}, [Held(0, 1, limits={"worst_gap": 20 * MS})])
    (cell,) = [row for row in library.rows("promised_cells()") if row["statistic"] == "worst_gap"]
    assert (cell["met"], cell["valued"]) == (0, 2)
    assert cell["log_sum"] == pytest.approx(17.2167 + 17.5044, abs=1e-4)


def test_a_missed_worst_gap_has_the_cause_that_was_worked_out(library: Library) -> None:
    """Of the gaps that have one: not another gap's of the stream, nor that of one that is kept."""
    gaps = {"slow": (20, 90, 30), "slower": (20, 99, 30), "kept": (20, 30, 40)}
    rows = [at(1, name=name, times=(*accumulate((10, *each)),)) for name, each in gaps.items()]
    show(library, rows, {NOBODY: 4}, [Held(4, 1, limits={"worst_gap": 50})])
    told = [("slow", 2, "preemption"), ("slower", 1, "handoff"), ("kept", 3, "shared_pause")]
    causes = [
        {"trace": "t", "request_id": name, "attempt": 0, "choice": 0, "vantage": "client",
         "gap_index": gap, "cause": cause, "basis": "measured"}
        for name, gap, cause in told
    ]  # fmt: skip
    bind_causes(library.con, pa.Table.from_pylist(causes, WORST_GAP_CAUSES))
    assert library.rows("promised_causes") == [
        {"profile": 4, "trace": "t", "request_id": "slow", "worst_gap_ns": 90,
         "cause": "preemption", "basis": "measured"},
    ]  # fmt: skip
    bind_causes(library.con, WORST_GAP_CAUSES.empty_table())


def test_a_percentile_at_its_limit_is_not_among_the_worst(library: Library) -> None:
    """Of 1, 1, 930 and 1,030 ns the 90th percentile is 930 + 0.7 · 100, in doubles a bit more."""
    rows = [at(1, times=(0, 1, 2, 932, 1962))]
    found = judged(library, rows, Held(0, 1, limits={"gap_p90": 1000}))
    assert found["a"]["gap_p90"] == "met"
    assert found["a"]["furthest"]["ratio"] == 1
    assert library.rows("promised_worst") == []


def test_a_bound_over_no_token_hides_no_other(library: Library) -> None:
    """One token is stated, and three came: of the time per token nothing is known."""
    rows = [at(1, times=(10, 30, 70), output_tokens=1)]
    judged(library, rows, Held(0, 1, limits={"tpot": 50, "worst_gap": 20}))
    (worst,) = library.rows("promised_worst")
    assert (worst["statistic"], worst["ratio"], worst["missed"]) == ("worst_gap", 2, ["worst_gap"])


def test_rows_that_do_not_tell_how_many_answers_there_are_are_judged(library: Library) -> None:
    """As kept of a day before that column was, whose streams are gone: a, of two answers, and b."""
    rows = [at(1, name="a", choice=0), at(1, name="a", times=(10, 50), choice=1), at(1, name="b")]
    expected = judged(library, rows, Held(0, 1, limits={"worst_gap": 30}))
    assert [expected[name]["worst_gap"] for name in "ab"] == ["missed", "met"]
    con = library.con
    con.execute("CREATE TEMP TABLE older AS SELECT * REPLACE (NULL AS choices) FROM _kept_latency")
    con.execute("ALTER VIEW _kept_latency RENAME TO newer")
    con.execute("CREATE VIEW _kept_latency AS FROM older")
    try:
        found = library.rows("promised_requests")
    finally:
        con.execute("DROP VIEW _kept_latency")
        con.execute("ALTER VIEW newer RENAME TO _kept_latency")
        con.execute("DROP TABLE older")
    assert sorted(found, key=str) == sorted(expected.values(), key=str)
