"""Which streams a timeline shows, and where their slices lie."""

import random
from typing import Any

from tests.queries.given import MS, Library, Row, clock, limits, stream
from tokengap.schema import STAGES
from tokengap.store.connect import Declared

LIMITS = limits(worst_gap=100 * MS)


def timed(name: str, start_ms: int, *gaps_ms: int, **facts: Any) -> Row:
    """Sent at a time, first token 10 ms later; an id of its own."""
    times = [start_ms + 10]
    for gap in gaps_ms:
        times.append(times[-1] + gap)
    placed = {"sent_ns": start_ms * MS, "ids": {"own": name}}
    return stream(name, [time * MS for time in times], **(placed | facts))


def stage(name: str, start_ms: float | None, end_ms: float | None, clock_id: str = "c") -> Row:
    assert name in STAGES
    start, end = (None if ms is None else round(ms * MS) for ms in (start_ms, end_ms))
    return {"name": name, "start_ns": start, "end_ns": end, "duration_ns": MS, "clock": clock_id}


def shown(library: Library) -> dict[str, Row]:
    return {row["request_id"]: row for row in library.rows("traced_streams")}


def events(library: Library, objectives: str = "[]") -> list[tuple[Any, ...]]:
    """Kind, name, cause, start and end in ms."""
    rows = library.rows(f"traced_events({objectives})", "start_ns, end_ns DESC, kind, name")
    return [
        (row["kind"], row["name"], row["cause"], row["start_ns"] / MS, row["end_ns"] / MS)
        for row in rows
    ]


def test_few_streams_are_all_shown_worst_first(library: Library) -> None:
    library.bind([timed("b", 0, 20), timed("a", 0, 300), timed("none", 5000)])
    found = shown(library)
    assert {name: row["rank"] for name, row in found.items()} == {"a": 1, "b": 2, "none": 3}
    assert all(row["is_worst"] and row["all_streams"] == 3 for row in found.values())
    assert (found["a"]["start_ns"], found["a"]["end_ns"]) == (0, 310 * MS)


def test_many_streams_are_kept_as_far_as_they_ran_beside_the_worst(library: Library) -> None:
    """The same in plain Python, pair by pair."""
    dice = random.Random(4)  # noqa: S311 (no secret)
    gaps = dice.sample(range(1, 5000), 1600)
    given = [(f"r{n:04}", dice.randrange(120_000), gap) for n, gap in enumerate(gaps)]
    library.bind([timed(name, start, gap) for name, start, gap in given])
    ranked = [
        (rank, name, start, start + 10 + gap)
        for rank, (name, start, gap) in enumerate(sorted(given, key=lambda g: -g[2]), 1)
    ]
    worst = ranked[:100]
    beside = {
        rank: min(near, default=None)
        for rank, _, start, end in ranked[100:]
        for near in [[w[0] for w in worst if w[2] <= end and start <= w[3]]]
    }
    reached = {rank: near for rank, near in beside.items() if near is not None}
    order = sorted(reached, key=lambda rank: (reached[rank], rank))
    kept = {*range(1, 101), *order[:900]}
    found = library.rows("traced_streams", "rank")
    assert len(reached) > 900, "the limit is tried"
    assert [row["rank"] for row in found] == sorted(kept)
    assert {row["request_id"] for row in found} == {r[1] for r in ranked if r[0] in kept}
    assert {row["beside_streams"] for row in found} == {len(reached)}
    assert sum(row["is_worst"] for row in found) == 100


def test_other_views_of_a_shown_request_come_with_it(library: Library) -> None:
    shared = {"x_request_id": "1"}
    inner = timed("e", 2, 20, vantage="engine", ids=shared, decode_worker="w") | {
        "sent_ns": None, "arrival_ns": 2 * MS,
    }  # fmt: skip
    library.bind([timed("a", 0, 300, ids=shared), inner, timed("alone", 3, 1, vantage="engine")])
    found = shown(library)
    assert found.keys() == {"a", "e"}
    assert (found["e"]["rank"], found["e"]["is_judged"], found["e"]["worker"]) == (1, False, "w")
    assert found["a"]["is_judged"]


def test_streams_without_any_time_are_not_shown(library: Library) -> None:
    nothing = stream("nothing", None, sent_ns=None, ids={"own": "n"}, output_tokens=5)
    library.bind([timed("a", 0, 300), nothing])
    assert shown(library).keys() == {"a"}


def test_gaps_over_their_limit_carry_a_cause_and_the_longest_is_always_there(
    library: Library,
) -> None:
    library.bind([timed("a", 0, 20, 300, 20, 150), timed("b", 1000, 30, 40)])
    # a: tokens at 10, 30, 330, 350, 500; b: at 1010, 1040, 1080
    assert events(library, LIMITS) == [
        ("request", "completed", None, 0, 500),
        ("ttft", None, None, 0, 10),
        ("gap", None, "unexplained", 30, 330),
        ("gap", None, "unexplained", 350, 500),
        ("request", "completed", None, 1000, 1080),
        ("ttft", None, None, 1000, 1010),
        ("gap", None, None, 1040, 1080),
    ]


def test_a_handoff_is_shown_by_each_boundary_that_has_stamps(library: Library) -> None:
    split = timed("a", 0, 80, 20, last_prefill_token=1, handoff_source="log") | {
        "stages": [stage("prefill", 1, 9), stage("kv_transfer", 12, 60), stage("queue", None, 1)],
        "marks": [{"kind": "decode_first_token", "t_ns": 88 * MS}],
        "vantage": "gateway", "sent_ns": None, "received_ns": 0,
    }  # fmt: skip
    library.bind([split])
    assert events(library) == [
        ("request", "completed", None, 0, 110),
        ("ttft", None, None, 0, 10),
        ("stage", "prefill", None, 1, 9),
        ("handoff", "gateway", None, 9, 88),
        ("gap", None, None, 10, 90),
        ("handoff", "stream", None, 10, 90),
        ("stage", "kv_transfer", None, 12, 60),
        ("mark", "decode_first_token", None, 88, 88),
    ]


def test_times_of_related_clocks_are_put_on_one(library: Library) -> None:
    """The server's clock runs 5 ms ahead, so its 25 to 30 ms are 20 to 25 ms here."""
    served = timed("a", 0, 30) | {
        "stages": [stage("prefill", 25, 30, "server"), stage("queue", 7, 8, "unrelated")]
    }
    library.bind([served], clocks=[clock("server", "c", 5 * MS)])
    rows = {row["name"]: row for row in library.rows("traced_events()") if row["kind"] == "stage"}
    prefill, queue = rows["prefill"], rows["queue"]
    own = shown(library)["a"]
    assert prefill["base"] == own["base"]
    assert prefill["start_ns"] - own["start_ns"] == 20 * MS
    assert prefill["end_ns"] - own["start_ns"] == 25 * MS
    assert (queue["base"], queue["start_ns"]) == ("unrelated", 7 * MS)


def test_a_stage_that_ends_before_it_starts_is_kept(library: Library) -> None:
    library.bind([timed("a", 0, 30) | {"stages": [stage("prefill", 9, 4)]}])
    assert ("stage", "prefill", None, 9, 4) in events(library)


def test_a_declared_worker_is_where_it_happened(library: Library) -> None:
    library.bind([timed("a", 0, 30)], Declared(workers=((None, "gpu-1"),)))
    assert {row["worker"] for row in library.rows("traced_events()")} == {"gpu-1"}
