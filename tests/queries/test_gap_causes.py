"""Why gaps were long: each cause by hand."""

import pytest

from tests.queries.given import MS, Library, Row, clock, limits
from tests.queries.stalls import LIMIT, PARTS, STALL_MS, caused, causes, prefill, prefilled, running
from tokengap.store.connect import Declared


def cause(library: Library, *rows: Row, declared: Declared | None = None) -> Row:
    """That of the one stall of stream `a`."""
    (row,) = (row for row in causes(library, *rows, declared=declared) if row["request_id"] == "a")
    assert sum(row[part] for part in PARTS) == row["gap_ns"]
    return row


def test_a_measured_prefill_on_the_same_worker_is_named_with_its_overlap(library: Library) -> None:
    row = cause(library, running(), prefilled("long", 110, 400))
    assert (row["cause"], row["basis"]) == ("prefill_interference", "measured")
    assert (row["by_trace"], row["by_request_id"], row["by_prompt_tokens"]) == ("t", "long", 3000)
    assert (row["by_start_ns"], row["by_end_ns"], row["overlap_ns"]) == (
        110 * MS,
        400 * MS,
        290 * MS,
    )
    assert (row["gap_index"], row["gap_ns"], row["end_ns"]) == (11, 310 * MS, 410 * MS)
    # 310 = a step of 10, 290 of prefill, and 10 that nothing explains
    assert [row[part] // MS for part in PARTS] == [10, 0, 0, 290, 0, 0, 10]


def test_of_several_prefills_the_heaviest_is_named_and_each_instant_counts_once(
    library: Library,
) -> None:
    row = cause(library, running(), prefilled("short", 110, 300, prompt_tokens=500),
                prefilled("long", 200, 400))  # fmt: skip
    assert (row["by_request_id"], row["overlap_ns"]) == ("long", 290 * MS)


def test_a_prefill_that_goes_on_after_the_gap_overlaps_it(library: Library) -> None:
    row = cause(library, running(), prefilled("long", 150, 900))
    assert (row["cause"], row["overlap_ns"]) == ("prefill_interference", 260 * MS)


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "named"),
    [
        (260, 410, "prefill_interference"),  # half of the 300 ms beyond the steady step
        (261, 410, "unexplained"),
        (0, 100, "unexplained"),  # over when the gap begins
        (410, 700, "unexplained"),
    ],
)
def test_a_prefill_explains_a_gap_if_it_covers_half_of_the_excess(
    library: Library, start_ms: int, end_ms: int, named: str
) -> None:
    row = cause(library, running(), prefilled("long", start_ms, end_ms))
    assert row["cause"] == named
    covered = max(0, min(end_ms, 410) - max(start_ms, 100))
    assert row["prefill_interference_ns"] == covered * MS


def test_a_prefill_on_another_worker_or_an_unrelated_clock_explains_nothing(
    library: Library,
) -> None:
    elsewhere = prefilled("b", 110, 400, stages=[prefill(110, 400, "w1")], decode_worker="w1")
    other_clock = prefilled("c", 110, 400, stages=[prefill(110, 400, "w0", "d")], clock="d")
    row = cause(library, running(), elsewhere, other_clock)
    assert (row["cause"], row["overlap_ns"]) == ("unexplained", None)


def test_related_clocks_are_compared_and_their_uncertainty_is_taken_off(library: Library) -> None:
    # Clock d runs 1 s ahead of c, give or take 20 ms: 1,110 to 1,400 there is 110 to 400 here.
    rows = [
        running(),
        prefilled("b", 1110, 1400, stages=[prefill(1110, 1400, "w0", "d")], clock="d"),
    ]
    library.bind(rows, clocks=[clock("d", "c", 1000 * MS, 20 * MS)])
    (row,) = caused(library, worst_gap=LIMIT)
    assert (row["cause"], row["basis"]) == ("prefill_interference", "measured")
    assert (row["overlap_ns"], row["by_start_ns"]) == (270 * MS, 110 * MS)


def test_without_stages_a_prefill_is_inferred_from_arrival_to_first_token(library: Library) -> None:
    # It arrived at 90, its first token came at 410 as the gap ended, and no other stream went on.
    late = running("late", [], 410, arrival_ns=90 * MS, prompt_tokens=3000)
    row = cause(library, running(), late)
    assert (row["cause"], row["basis"]) == ("prefill_interference", "inferred")
    assert (row["by_request_id"], row["overlap_ns"]) == ("late", 310 * MS)


def test_an_inferred_prefill_must_end_with_the_gap(library: Library) -> None:
    late = running("late", [], 395, arrival_ns=90 * MS, prompt_tokens=3000)
    assert cause(library, running(), late)["cause"] == "unexplained"


def test_an_inferred_prefill_stops_most_streams_of_the_worker(library: Library) -> None:
    late = running("late", [], 410, arrival_ns=90 * MS, prompt_tokens=3000)
    others = [running(name, [10] * 60) for name in ("b", "c")]
    assert cause(library, running(), late, *others)["cause"] == "unexplained"


def test_a_wait_longer_than_usual_for_such_a_prompt_is_no_prefill(library: Library) -> None:
    # Requests of as many tokens usually wait 20 ms: no more of the 310 can be its prefill.
    usual = [
        running(f"u{n}", [], t, arrival_ns=(t - 20) * MS, prompt_tokens=300)
        for n, t in enumerate(range(1000, 1500, 100))
    ]
    late = running("late", [], 410, arrival_ns=90 * MS, prompt_tokens=300)
    row = cause(library, running(), late, *usual)
    assert (row["cause"], row["prefill_interference_ns"]) == ("unexplained", 0)


def test_a_request_whose_prefill_ran_elsewhere_is_in_nobodys_way(library: Library) -> None:
    late = running("late", [], 410, arrival_ns=90 * MS, prefill_worker="p0", prompt_tokens=3000)
    assert cause(library, running(), late)["cause"] == "unexplained"


@pytest.mark.parametrize(
    ("facts", "declared", "basis"),
    [
        ({"decode_worker": "w0"}, Declared(), "measured"),
        ({"decode_worker": None}, Declared(workers=((None, "w0"),)), "declared"),
        ({"decode_worker": None}, Declared(), "inferred"),  # one deployment is one worker
    ],
)
def test_a_claim_is_as_good_as_what_is_known_of_the_worker(
    library: Library, facts: Row, declared: Declared, basis: str
) -> None:
    stage = prefill(110, 400, facts["decode_worker"])
    rows = [running(**facts), prefilled("long", 110, 400, stages=[stage], **facts)]
    row = cause(library, *rows, declared=declared)
    assert (row["cause"], row["basis"]) == ("prefill_interference", basis)


def test_a_worker_is_declared_for_a_trace_and_the_log_wins(library: Library) -> None:
    declared = Declared(workers=((None, "w1"), ("t", "w0")))
    own = running(decode_worker=None)
    named = running("b", STALL_MS, 1, trace="other", decode_worker="w2")
    found = causes(library, own, named, declared=declared)
    assert [row["worker"] for row in found] == ["w0", "w2"]


def test_the_handoff_gap_is_the_handoff(library: Library) -> None:
    rows = [running("a", [310, *[10] * 10], last_prefill_token=1, handoff_source="log")]
    row = cause(library, *rows)
    assert (row["cause"], row["basis"], row["handoff_ns"]) == ("handoff", "measured", 300 * MS)
    declared = Declared(last_prefill_token=1)
    row = cause(library, running("a", [310, *[10] * 10]), declared=declared)
    assert (row["cause"], row["basis"]) == ("handoff", "declared")


def test_a_limit_on_the_handoff_is_about_the_handoff_gap_alone(library: Library) -> None:
    row = running("a", [60, *[10] * 10, 70], last_prefill_token=1, handoff_source="log")
    found = causes(library, row, handoff_gap=50 * MS)
    assert [(r["gap_index"], r["cause"]) for r in found] == [(1, "handoff")]


def test_a_preemption_mark_inside_the_gap_is_preemption(library: Library) -> None:
    row = cause(library, running(marks=[{"kind": "preempted", "t_ns": 150 * MS}]))
    assert (row["cause"], row["basis"]) == ("preemption", "measured")
    assert (row["preemption_ns"], row["unexplained_ns"]) == (260 * MS, 40 * MS)
    before = cause(library, running(marks=[{"kind": "preempted", "t_ns": 50 * MS}]))
    assert before["cause"] == "unexplained"


def test_a_burst_that_catches_up_is_a_pause_in_delivery_whatever_else_ran(library: Library) -> None:
    burst = running("a", [*[10] * 10, 310, *[1] * 9, *[10] * 10])
    row = cause(library, burst, prefilled("long", 200, 400))
    assert (row["cause"], row["basis"], row["burst"]) == ("delivery_pause", "measured", 9)
    # the prefill keeps its share of the time: 10 + 200 + the 100 that are left
    assert (row["prefill_interference_ns"], row["delivery_pause_ns"]) == (200 * MS, 100 * MS)


def test_most_streams_of_a_worker_that_stop_together_share_a_pause(library: Library) -> None:
    others = [running("b", STALL_MS, 3), running("c", [10] * 60)]
    row = cause(library, running(), *others)
    assert (row["cause"], row["basis"]) == ("shared_pause", "measured")
    assert (row["stopped_streams"], row["active_streams"]) == (2, 3)
    assert row["shared_pause_ns"] == 300 * MS
    half = [*others, running("d", [10] * 60)]
    assert cause(library, running(), *half)["cause"] == "unexplained"  # 2 of 4 are not most


def test_a_slow_pace_is_no_stall(library: Library) -> None:
    found = causes(library, running("a", [150] * 10), running("b", [150] * 10))
    assert {row["cause"] for row in found} == {"unexplained"}
    assert {(row["steady_ns"], row["unexplained_ns"]) for row in found} == {(150 * MS, 0)}


def test_gaps_that_are_none_have_no_cause(library: Library) -> None:
    lost = running("lost", quality=["events_lost"])
    smeared = running("smeared", quality=["smeared"])
    stepped = running("stepped", [*STALL_MS, -1])
    assert causes(library, lost, smeared, stepped) == []


def test_the_summary_adds_up(library: Library) -> None:
    rows = [running(), prefilled("long", 110, 400), running("b", [310, *[10] * 10], 1000,
            last_prefill_token=1, handoff_source="log")]  # fmt: skip
    library.bind(rows)
    found = library.rows(f"cause_summary({limits(worst_gap=LIMIT)})")
    assert [(r["cause"], r["gaps"], r["requests"], r["max_ns"]) for r in found] == [
        ("handoff", 1, 1, 310 * MS), ("prefill_interference", 1, 1, 310 * MS)
    ]  # fmt: skip
    assert [(r["excess_ns"], r["excess_share"]) for r in found] == [(300 * MS, 0.5)] * 2
