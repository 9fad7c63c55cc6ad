"""No rows, rows at the ends of the number range, and files a day long."""

from typing import Final

import pytest

from tests.queries.given import Library, limits, stream
from tokengap.schema import TIME_LIMIT_NS
from tokengap.slo import STATISTICS
from tokengap.store.connect import Declared, Window

ONE_ROW: Final = {
    "arrival_gaps", "gap_percentiles", "judged_window", "length_dependence", "request_counts",
    "slo_attainment",
}  # fmt: skip
PER_PROMISE: Final = {"tpot_promises": 8, "tpot_promise_summary": 3}
EVERY_LIMIT: Final = limits(**dict.fromkeys(STATISTICS, 1))


def calls(library: Library, asked: str = EVERY_LIMIT) -> dict[str, str]:
    """Every public relation, with these limits where it takes limits."""
    found = {}
    for name in library.catalogue.public:
        query = library.catalogue[name]
        takes_limits = any(parameter.name == "objectives" for parameter in query.parameters)
        arguments = f"({f'objectives := {asked}' if takes_limits else ''})"
        found[name] = name + (arguments if query.is_macro else "")
    return found


@pytest.mark.parametrize("window", [None, Window(0, 10), Window(0, 10, "by_event")])
def test_no_rows_give_no_rows_and_no_error(library: Library, window: Window | None) -> None:
    library.bind(declared=Declared(window=window))
    found = {name: library.rows(call) for name, call in calls(library).items()}
    per_objective = found.pop("objective_attainment")
    promised = {name: found.pop(name) for name in PER_PROMISE}
    assert {name: len(rows) for name, rows in promised.items()} == PER_PROMISE
    assert not any(row["requests"] for row in promised["tpot_promises"])
    assert {name for name, rows in found.items() if rows} == ONE_ROW
    assert all(len(found[name]) == 1 for name in ONE_ROW)
    assert [row["statistic"] for row in per_objective] == list(STATISTICS)
    assert {row["attainment"] for row in per_objective} == {None}
    assert found["slo_attainment"][0] == {
        "scope": "all", "deployment": None, "offered": 0, "good": 0,
        "attainment": None, "low": None, "high": None,
    }  # fmt: skip
    assert found["gap_percentiles"][0]["n"] == 0
    assert found["gap_percentiles"][0]["p99_ns"] is None
    assert set(found["request_counts"][0].values()) == {0}


def test_no_limits_judge_nothing(library: Library) -> None:
    library.bind([stream("a", [5, 9])])
    assert library.rows("objective_attainment()") == []
    assert library.rows("objective_verdicts()") == []
    assert library.rows("hidden_stalls()") == []
    assert library.rows("slo_attainment()")[0]["good"] == 1


def test_the_longest_times_a_store_may_hold_overflow_nothing(library: Library) -> None:
    """Three gaps of 2^61 and one from end to end, whose length still fits int64."""
    step = 2**61
    times = [-TIME_LIMIT_NS + step * number for number in range(4)]
    long = [
        stream(
            f"r{number}", times, sent_ns=times[0], planned_ns=times[0], stream_close_ns=times[-1]
        )
        for number in range(50)
    ]
    end_to_end = stream("whole", [-TIME_LIMIT_NS, TIME_LIMIT_NS], sent_ns=-TIME_LIMIT_NS)
    library.bind([*long, end_to_end])
    found = {name: library.rows(call) for name, call in calls(library).items()}
    assert found["check_identities"] == []
    row = next(row for row in found["request_latency"] if row["request_id"] == "r0")
    assert (row["worst_gap_ns"], row["decode_span_ns"]) == (step, 3 * step)
    assert row["tpot_ns"] == step  # a power of two, so exact as a DOUBLE
    assert found["gap_percentiles"][0]["max_ns"] == 2 * TIME_LIMIT_NS
    verdicts = {row["verdict"] for row in found["objective_verdicts"] if row["statistic"] == "tpot"}
    assert verdicts == {"missed"}
    highest = limits(tpot=2**63 - 1, worst_gap=2**63 - 1, e2e=2**63 - 1)
    assert {row["verdict"] for row in library.rows(f"objective_verdicts({highest})")} == {"met"}


def test_a_day_of_waiting_is_compared_exactly(library: Library) -> None:
    day_ns = 86_400 * 10**9
    library.bind([stream("a", [0, day_ns, 2 * day_ns + 1])])
    just_under, at = limits(worst_gap=day_ns), limits(worst_gap=day_ns + 1)
    assert library.row(f"objective_verdicts({just_under})")["verdict"] == "missed"
    assert library.row(f"objective_verdicts({at})")["verdict"] == "met"
