"""The handoff by each boundary: from where to where, on which clocks, and why not."""

from typing import Any

import pytest

from tests.queries.given import MS, NOTHING_DECLARED, Library, Row, clock, deliveries, limits
from tests.queries.views import half, view
from tokengap.adapters.rows import reported, stage
from tokengap.store.connect import Declared

IDS = {"x_request_id": "a"}
BOUNDARIES = ("stream", "ttft", "engine", "relay", "transfer", "decode_wait", "gateway")


def interval(name: str, start_ms: int, end_ms: int, clock: str = "c") -> dict[str, object]:
    return stage(name, start_ms * MS, end_ms * MS, clock=clock)


def at(row: Row, *times_ms: int) -> Row:
    return row | deliveries([t * MS for t in times_ms]) | {"output_tokens": len(times_ms)}


def client(k: int | None, clock: str = "c") -> Row:
    """With k = 1 the prefill worker's token comes at 58 ms; the decode worker's at 103."""
    row = view("a", "client", IDS, last_prefill_token=k, clock=clock)
    return at(row, 58, 103, 120) if k else at(row, 103, 120)


def gateway(k: int, **facts: Any) -> Row:
    """Its prefill is answered at 55 ms; the decode worker's first token passes at 99."""
    stages = [interval("prefill", 5, 55), interval("relay", 55, 60)]
    split = {"handoff_source": "log", "last_prefill_token": k, "stages": stages, "clock": "c"}
    row = view("g", "gateway", IDS, **split) | {"gaps_ns": None, "last_token_ns": 118 * MS}
    if k == 0:
        return row | {"first_token_ns": 99 * MS} | facts
    mark = {"kind": "decode_first_token", "t_ns": 99 * MS}
    return row | {"first_token_ns": 56 * MS, "marks": [mark]} | facts


def prefill(**facts: Any) -> Row:
    """Its token is there at 50 ms."""
    return at(half("p", "prefill", IDS, clock="c", arrival_ns=8 * MS), 50) | facts


def decode(clock: str = "c", **facts: Any) -> Row:
    """Asked at 63 ms, scheduled at 83; its first token is there at 95."""
    stages = [
        interval("decode_queue", 63, 83, clock), interval("kv_transfer", 64, 80, clock),
    ]  # fmt: skip
    row = half("d", "decode", IDS, clock=clock, arrival_ns=63 * MS, stages=stages)
    return at(row, 95, 112) | facts


def boundaries(
    library: Library, rows: list[Row], declared: Declared = NOTHING_DECLARED, **more: Any
) -> dict[str, Row]:
    """The one request's rows, by boundary."""
    library.bind(rows, declared, **more)
    found = library.rows("handoff_boundaries")
    assert len({row["request_id"] for row in found}) == 1
    assert len({row["boundary"] for row in found}) == len(found)
    return {row["boundary"]: row for row in found}


def spans(found: dict[str, Row]) -> dict[str, tuple[int | None, int | None, str | None]]:
    for row in found.values():
        assert (row["handoff_ns"] is None) == (row["reason"] is not None)
        assert row["reason"] or row["handoff_ns"] == row["handoff_low_ns"] == row["handoff_high_ns"]
    return {
        name: (row["handoff_low_ns"], row["handoff_high_ns"], row["reason"])
        for name, row in found.items()
    }


def exactly(span_ms: int) -> tuple[int, int, None]:
    return span_ms * MS, span_ms * MS, None


def unknown(reason: str) -> tuple[None, None, str]:
    return None, None, reason


@pytest.mark.parametrize(
    ("k", "visible"),
    [
        (0, {"stream": unknown("inside_ttft"), "ttft": exactly(103 - 55)}),
        (1, {"stream": exactly(103 - 58), "ttft": unknown("outside_ttft")}),
    ],
)
def test_each_boundary_spans_something_else(
    library: Library, k: int, visible: dict[str, Any]
) -> None:
    found = boundaries(library, [client(k), gateway(k), prefill(), decode()])
    assert spans(found) == visible | {
        "engine": exactly(95 - 50),
        "relay": exactly(63 - 55),
        "transfer": exactly(80 - 64),
        "decode_wait": exactly(83 - 63),
        "gateway": exactly(99 - 55),
    }
    assert {(row["last_prefill_token"], row["handoff_source"]) for row in found.values()} == {
        (k, "log")
    }
    assert {(row["vantage"], row["status"]) for row in found.values()} == {("client", "completed")}


def test_a_client_alone_has_its_own_boundary_only(library: Library) -> None:
    assert spans(boundaries(library, [client(1)])) == {"stream": exactly(45)}
    library.bind([prefill()])  # half of a request that no other log knows
    assert library.rows("handoff_boundaries") == []


def test_what_no_log_says_is_not_logged(library: Library) -> None:
    told = [reported("ttft", 1, "somebody's")]
    found = spans(boundaries(library, [client(1) | {"reported": told}]))
    others = set(BOUNDARIES) - {"stream", "ttft"}
    assert found == {"stream": exactly(45), "ttft": unknown("outside_ttft")} | {
        name: unknown("not_logged") for name in others
    }


def test_where_k_is_not_known_the_first_wait_may_or_may_not_hold_it(library: Library) -> None:
    found = spans(boundaries(library, [client(None), prefill(), decode()]))
    assert found["stream"] == found["ttft"] == unknown("handoff_undeclared")
    assert found["engine"] == exactly(95 - 50)
    declared = Declared(last_prefill_token=0)
    found = spans(boundaries(library, [client(None), prefill(), decode()], declared))
    assert found["ttft"] == exactly(103 - 50)  # without a gateway, from the prefill worker's token


def test_known_to_have_none_is_no_number_at_any_boundary(library: Library) -> None:
    one_worker = gateway(0, handoff_source="none", last_prefill_token=None)
    found = spans(boundaries(library, [client(None), one_worker, prefill(), decode()]))
    assert found == dict.fromkeys(BOUNDARIES, unknown("no_handoff"))


def test_an_answer_that_prefill_finished_has_none(library: Library) -> None:
    found = spans(boundaries(library, [at(client(1), 58), gateway(1), prefill()]))
    assert set(found.values()) == {unknown("no_handoff")}


def test_spans_across_clocks_that_nothing_relates_are_refused(library: Library) -> None:
    # Without a client, causal order says nothing of two workers.
    found = spans(boundaries(library, [prefill(clock="p"), decode("d")]))
    assert found["engine"] == unknown("clock_unrelated")
    assert found["transfer"] == exactly(80 - 64)  # on one clock
    # Only a gateway tells that one worker was asked after the other.
    assert found["relay"] == unknown("not_logged")
    found = spans(boundaries(library, [client(1), prefill(clock=None), decode()]))
    assert found["engine"] == unknown("clock_unrelated")


def test_uncertain_clocks_make_an_interval(library: Library) -> None:
    # The decode worker's clock is 7 ms ahead, or 2 more or less; the prefill worker's at most 1.
    known = [clock("d", "c", 7 * MS, 2 * MS), clock("p", "c", 0, 1 * MS)]
    rows = [client(1), gateway(1), prefill(clock="p"), decode("d")]
    found = spans(boundaries(library, rows, clocks=known))
    assert found["engine"] == ((95 - 50 - 7 - 3) * MS, (95 - 50 - 7 + 3) * MS, "clock_uncertain")
    assert found["relay"] == ((63 - 55 - 7 - 2) * MS, (63 - 55 - 7 + 2) * MS, "clock_uncertain")
    assert found["decode_wait"] == exactly(83 - 63)


def test_skew_gives_a_negative_span_which_is_kept(library: Library) -> None:
    rows = [client(1), gateway(1), prefill(), decode("d")]
    found = spans(boundaries(library, rows, clocks=[clock("d", "c", 60 * MS)]))
    assert found["engine"] == exactly(95 - 50 - 60)
    assert found["relay"] == exactly(63 - 55 - 60)
    summary = {row["boundary"]: row["negative"] for row in library.rows("handoff_by_boundary")}
    assert summary == dict.fromkeys(BOUNDARIES, 0) | {"engine": 1, "relay": 1}


def test_wall_clocks_of_one_host_are_exactly_comparable(library: Library) -> None:
    # The gateway is known against wall only within 3 ms: no matter between the two workers.
    wall = {"clock_kind": "wall"}
    rows = [client(1), gateway(1), prefill(clock="p", **wall), decode("d", **wall)]
    same = Declared(same_clock=True)
    found = spans(boundaries(library, rows, same, clocks=[clock("c", "c:wall", 0, 3 * MS)]))
    assert found["engine"] == exactly(95 - 50)
    assert found["relay"] == ((63 - 55 - 3) * MS, (63 - 55 + 3) * MS, "clock_uncertain")


def test_one_row_may_hold_both_workers(library: Library) -> None:
    stages = [
        interval("prefill", 8, 50), interval("relay", 52, 63), interval("kv_transfer", 64, 80),
        interval("decode_queue", 63, 83),
    ]  # fmt: skip
    workers = {"prefill_worker": "p", "decode_worker": "d", "handoff_source": "log"}
    row = view("e", "engine", IDS, last_prefill_token=1, stages=stages, clock="c", **workers)
    expected = {
        "engine": exactly(95 - 50), "relay": exactly(63 - 52), "transfer": exactly(16),
        "decode_wait": exactly(20), "gateway": unknown("not_logged"),
    }  # fmt: skip
    stepwise = spans(boundaries(library, [client(1), at(row, 51, 95, 112)]))
    assert {name: stepwise[name] for name in expected} == expected
    mark = [{"kind": "decode_first_token", "t_ns": 95 * MS}]
    ends = row | {"first_token_ns": 51 * MS, "gaps_ns": None, "marks": mark}
    assert spans(boundaries(library, [client(1), ends])) == stepwise


def test_a_duration_is_enough(library: Library) -> None:
    stages = [stage("kv_transfer", duration_ns=16 * MS), stage("decode_queue", duration_ns=20 * MS)]
    told = [reported("handoff_gateway", 44 * MS, "the gateway's own")]
    rows = [client(1), decode(stages=stages), gateway(1, stages=[], marks=[], reported=told)]
    found = spans(boundaries(library, rows))
    assert found["transfer"] == exactly(16)
    assert found["decode_wait"] == exactly(20)
    assert found["gateway"] == exactly(44)
    assert found["engine"] == unknown("not_logged")


def test_a_prefill_half_hands_off_when_its_token_is_there(library: Library) -> None:
    rows = [client(1), prefill(stages=[interval("prefill", 10, 47)]), decode()]
    found = spans(boundaries(library, rows))
    assert found["engine"] == exactly(95 - 50)


def test_of_two_halves_with_a_transfer_the_decode_halfs_counts(library: Library) -> None:
    sent = prefill(stages=[interval("kv_transfer", 51, 90)])
    again = decode()
    again["stages"] = [*again["stages"], interval("prefill", 84, 90)]  # its own, of the last token
    for rows in ([client(0), sent, again], [again, sent, client(0)]):
        found = spans(boundaries(library, rows))
        assert found["transfer"] == exactly(80 - 64)
        assert found["ttft"] == exactly(103 - 50)


@pytest.mark.parametrize(
    ("boundary", "limit_ms", "verdict", "reason"),
    [
        ("stream", 45, "met", None),
        ("stream", 44, "missed", None),
        ("engine", 45, "met", None),
        ("engine", 44, "missed", None),
        ("gateway", 44, "met", None),
        ("relay", 8, "unknown", "clock_uncertain"),  # 6 to 10
        ("relay", 10, "met", "clock_uncertain"),
        ("relay", 5, "missed", "clock_uncertain"),
        ("transfer", 50, "unknown", "not_logged"),
        ("ttft", 50, "not_applicable", "outside_ttft"),
    ],
)
def test_a_limit_is_about_the_declared_boundary(
    library: Library, boundary: str, limit_ms: int, verdict: str, reason: str | None
) -> None:
    seen = {"clock": "g"}
    stages = [interval("prefill", 5, 55, "g")]
    rows = [
        client(1), gateway(1, stages=stages, **seen), prefill(), decode(stages=[]),
        view("z", "engine", {"x_request_id": "z"}),
    ]  # fmt: skip
    declared = Declared(handoff=boundary)
    library.bind(rows, declared, clocks=[clock("g", "c", 0, 2 * MS)])
    (found,) = library.rows(f"objective_verdicts({limits(handoff_gap=limit_ms * MS)})")
    assert (found["verdict"], found["reason"]) == (verdict, reason)
    shown = {row["statistic"]: row for row in library.rows("latency_percentiles")}["handoff_gap"]
    bounds = {row["boundary"]: row for row in library.rows("handoff_boundaries")
              if row["request_id"] == "a"}[boundary]  # fmt: skip
    assert (shown["max_low_ns"], shown["max_high_ns"]) == (
        bounds["handoff_low_ns"], bounds["handoff_high_ns"],
    )  # fmt: skip


def test_no_handoff_has_no_limit_at_any_boundary(library: Library) -> None:
    rows = [client(None) | {"handoff_source": "none"}, prefill(), decode()]
    library.bind(rows, Declared(handoff="engine"))
    (found,) = library.rows(f"objective_verdicts({limits(handoff_gap=1)})")
    assert (found["verdict"], found["reason"]) == ("not_applicable", "no_handoff")


def test_boundaries_stand_side_by_side_and_are_not_pooled(library: Library) -> None:
    def request(name: str, first_ms: int, **facts: Any) -> list[Row]:
        ids = {"x_request_id": name}
        seen = view(name, "client", ids, last_prefill_token=1, clock="c", trace="c", **facts)
        prefilled = half(f"{name}-p", "prefill", ids, clock="c")
        decoded = half(f"{name}-d", "decode", ids, clock="c", arrival_ns=60 * MS)
        return [at(seen, 50, 100 + first_ms), at(prefilled, 45), at(decoded, 90 + first_ms)]

    none = view("n", "client", {}, handoff_source="none")
    failed = request("f", 9, status="failed")
    library.bind([*request("a", 0), *request("b", 10), *request("c", 40), *failed, none])
    found = {row["boundary"]: row for row in library.rows("handoff_by_boundary")}
    assert list(found) == list(BOUNDARIES)
    stream, engine = found["stream"], found["engine"]
    # 50, 60, 90 at the client; 45, 55, 85 between the workers. p90 lies 0.8 of the way to the last.
    assert [stream[name] for name in ("p50_ns", "p90_ns", "max_ns")] == [60 * MS, 84 * MS, 90 * MS]
    assert [engine[name] for name in ("p50_ns", "p90_ns", "max_ns")] == [55 * MS, 79 * MS, 85 * MS]
    assert {(row["requests"], row["no_handoff"]) for row in found.values()} == {(3, 1)}
    assert (stream["n"], stream["bounded"], stream["reason"]) == (3, 0, None)
    assert (found["gateway"]["n"], found["gateway"]["reason"]) == (0, "not_logged")


def test_a_bound_that_is_open_leaves_the_median_open(library: Library) -> None:
    rows = [
        client(1),
        at(view("b", "client", {}, last_prefill_token=1, trace="b", clock="b"), 50)
        | {"status": "completed", "quality": ["smeared"], "output_tokens": 2, "gaps_ns": [70 * MS]},
    ]
    library.bind(rows)
    (found,) = library.rows("handoff_by_boundary")
    assert (found["requests"], found["n"], found["bounded"]) == (2, 1, 1)
    assert (found["p50_low_ns"], found["p50_high_ns"]) == ((45 + 70) / 2 * MS, None)
    assert found["reason"] == "smeared"
