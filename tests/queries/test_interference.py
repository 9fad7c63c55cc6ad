"""Gaps beside other requests' prefills, against looking at every pair of the two."""

import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.queries.exposures import Gap, by_dose, exposed
from tests.queries.given import MS, Library, Row, limits, loaded_library
from tests.queries.stalls import prefill, running
from tokengap.findings.baseline import STORED

CHUNK: Final = 512


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """What a baseline's queries share is computed once, as the command does it."""
    with loaded_library(STORED, tmp_path_factory.mktemp("parts")) as loaded:
        yield loaded


def prompted(name: str, start_ms: int, end_ms: int, tokens: int, *gaps_ms: int) -> Row:
    """A request whose measured prefill ends at its first token."""
    facts = {"prompt_tokens": tokens, "stages": [prefill(start_ms, end_ms)]}
    return running(name, gaps_ms, end_ms, **facts)


def test_a_prompt_in_a_gap_is_its_dose(library: Library) -> None:
    """a: 10 ms steps from 10 to 50, one of 110 to 160, then steps to 180.

    b's 1,000 tokens are computed from 60 to 160, all in that gap; c's 100 tokens from 165 to 175:
    half of them in each of the gaps from 160 to 170 and to 180.
    """
    library.bind([
        prompted("a", 0, 10, 40, 10, 10, 10, 10, 110, 10, 10),
        prompted("b", 60, 160, 1000),
        prompted("c", 165, 175, 100),
    ])  # fmt: skip
    found = library.rows("dose_response")
    (stream,) = library.rows("stream_exposures(chunk_budget := 250)")
    assert [(row["dose_step"], row["gaps"]) for row in found] == [(0, 4), (6, 2), (10, 1)]
    calm, short, long = found
    assert (calm["gap_ns"], calm["beyond_ns"], calm["prefill_ns"]) == (10 * MS, 0, 0)
    assert (short["dose_tokens"], short["prefill_ns"]) == (pytest.approx(50), 5 * MS)
    assert (long["dose_tokens"], long["gap_ns"], long["beyond_ns"]) == (1000, 110 * MS, 100 * MS)
    assert (long["long_gaps"], long["longest_ns"]) == (1, 110 * MS)
    assert (stream["gaps"], stream["exposed_gaps"], stream["prefill_ns"]) == (7, 3, 110 * MS)
    # Without prefills the longest gap is a step of 10; with a quarter of the prompt, 10 + 25.
    assert (stream["worst_gap_ns"], stream["worst_apart_ns"]) == (110 * MS, 10 * MS)
    assert stream["worst_chunked_ns"] == pytest.approx(35 * MS)
    assert (stream["calm_steps"], stream["calm_ns"], stream["calm_running"]) == (4, 40 * MS, 4)
    # 40 of the prompt; of its 8 tokens over 170 ms, the n-th calm gap begins after 10 * (n - 1) ms.
    assert stream["calm_held_tokens"] == pytest.approx(4 * 41 + 7 * (0 + 10 + 20 + 30) / 170)


def test_an_inferred_prefill_waits_for_the_one_before(library: Library) -> None:
    """Both arrive at 100 ms; one's first token is at 150, the other's at 250 ms.

    Waits of 50 and 150 ms: the longer prompt ran from 150 to 250 ms, not from 100 on.
    """
    library.bind([
        running("a", [100] * 5, 0, prompt_tokens=1),
        running("b", [], 150, prompt_tokens=100, arrival_ns=100 * MS),
        running("c", [], 250, prompt_tokens=1000, arrival_ns=100 * MS),
    ])  # fmt: skip
    found = library.rows("prefill_steps", "end_ns")
    gaps = library.rows("_gap_exposures", "end_ns")
    # Between 100 and 200 ms: all of b's 100 tokens and half of c's 1,000.
    assert [row["dose_tokens"] for row in gaps] == pytest.approx([0, 600, 500, 0, 0])
    assert [row["prefill_ns"] // MS for row in gaps] == [0, 100, 50, 0, 0]
    b, c = found[1:]
    assert [(row["start_ns"] // MS, row["end_ns"] // MS) for row in (b, c)] == [
        (100, 150), (150, 250),
    ]  # fmt: skip
    assert (b["waited_ns"], c["waited_ns"], c["queued_ns"]) == (0, 50 * MS, 50 * MS)
    assert (c["ttft_ns"], c["computed_tokens"], c["squares"]) == (150 * MS, 1000, 1_000_000)
    assert (c["running"], c["basis"]) == (1, "inferred")


def test_prompts_that_end_together_are_one_step(library: Library) -> None:
    library.bind([
        running("a", [], 50, prompt_tokens=10, arrival_ns=20 * MS, cached_prompt_tokens=4),
        running("b", [], 51, prompt_tokens=20, arrival_ns=0),
    ])  # fmt: skip
    (step,) = library.rows("prefill_steps")
    assert (step["prompts"], step["computed_tokens"], step["squares"]) == (2, 26, 36 + 400)
    assert (step["start_ns"], step["end_ns"]) == (0, 51 * MS)
    assert (step["queued_ns"], step["ttft_ns"]) == (0, (31 + 51) * MS)


def test_cached_tokens_are_not_computed_and_an_unknown_prompt_is_one_token(
    library: Library,
) -> None:
    """Each prefill is in the middle of a gap of its own of 100 ms."""
    stages = [[prefill(at, at + 50)] for at in (25, 125, 225)]
    library.bind([
        running("a", [100] * 3, prompt_tokens=1, arrival_ns=0),
        running("b", [], 75, prompt_tokens=100, cached_prompt_tokens=60, stages=stages[0]),
        running("c", [], 175, prompt_tokens=100, cached_prompt_tokens=100, stages=stages[1]),
        running("d", [], 275, prompt_tokens=None, stages=stages[2]),
    ])  # fmt: skip
    gaps = library.rows("_gap_exposures", "end_ns")
    steps = library.rows("prefill_steps", "end_ns")
    doses = library.rows("dose_response")
    assert [row["dose_tokens"] for row in gaps] == pytest.approx([40, 0, 1])
    assert {row["prefill_ns"] for row in gaps} == {50 * MS}
    assert [row["dose_step"] for row in doses] == [0, 1, 6]
    assert [row["computed_tokens"] for row in steps if row["basis"] == "measured"] == [40]


def test_other_workers_do_not_count(library: Library) -> None:
    elsewhere = {"decode_worker": "w1", "stages": [prefill(60, 160, "w1")], "prompt_tokens": 999}
    library.bind([running("a", [10, 200, 10]), running("b", [], 160, **elsewhere)])
    assert [row["dose_step"] for row in library.rows("dose_response")] == [0]


@pytest.mark.parametrize("seed", range(3))
def test_against_looking_at_every_pair(library: Library, seed: int) -> None:
    """Few and many streams of two workers; prefills are measured, inferred or of no length."""
    rng = random.Random(seed)  # noqa: S311 (any numbers will do)
    rows = []
    for number in range([3, 15, 40][seed]):
        came, took = rng.randrange(500), rng.choice([0, 1, rng.randrange(80)])
        worker = f"w{rng.randrange(2)}"
        tokens = rng.choice([0, rng.randrange(3000)])
        facts: dict[str, Any] = {"prompt_tokens": tokens, "arrival_ns": came * MS}
        if rng.random() < 0.5:
            facts["stages"] = [prefill(came, came + took, worker)]
        gaps = [rng.randrange(1 + 10 ** rng.randrange(1, 4)) for _ in range(rng.randrange(12))]
        rows.append(running(str(number), gaps, came + took, decode_worker=worker, **facts))
    library.bind(rows)
    expected = exposed(rows, library.rows("prefills"))
    assert len(expected) > 5
    compare(library, expected, chunk=rng.randrange(1, 2000))


def compare(library: Library, expected: list[Gap], chunk: int) -> None:
    found = library.rows("dose_response")
    doses = by_dose(expected)
    # Where a dose is a power of two, rounding decides its step.
    if not any(abs(gap.dose_tokens - 2**k) < 1e-6 for gap in expected for k in range(13)):
        assert {row["dose_step"]: row["gaps"] for row in found} == doses
    assert sum(row["gaps"] for row in found) == len(expected)
    for row in library.rows(f"stream_exposures(chunk_budget := {chunk})"):
        own = [gap for gap in expected if gap.request_id == row["request_id"]]
        calm = [gap for gap in own if gap.prefill_ns == 0]
        assert row["gaps"] == len(own)
        assert row["prefill_ns"] == sum(gap.prefill_ns for gap in own)
        assert row["step_ns"] == pytest.approx(own[0].step_ns)
        assert row["worst_apart_ns"] == max(gap.gap_ns - gap.prefill_ns for gap in own)
        assert row["worst_chunked_ns"] == pytest.approx(max(chunked(gap, chunk) for gap in own))
        assert (row["calm_steps"], row["calm_ns"]) == (len(calm), sum(g.gap_ns for g in calm))
        assert row["calm_running"] == sum(gap.running for gap in calm)
        assert row["calm_held_tokens"] == pytest.approx(sum(g.held_tokens for g in calm))
        assert row["most_running"] == max(gap.running for gap in own)
    blocks = library.rows("interference_blocks(blocks := 3)")
    assert sum(row["gap_ns"] for row in blocks) == sum(gap.gap_ns for gap in expected)
    total = sum(gap.dose_tokens for gap in expected)
    assert sum(row["dose_tokens"] for row in blocks) == pytest.approx(total, abs=1e-6)
    long = [gap for gap in expected if gap.gap_ns > 2 * gap.step_ns]
    excess = [gap.gap_ns - gap.step_ns for gap in long]
    assert sum(row["long_gaps"] for row in blocks) == len(long)
    assert sum(row["excess_ns"] for row in blocks) == pytest.approx(sum(excess))
    explained = sum(min(ns, gap.prefill_ns) for ns, gap in zip(excess, long, strict=True))
    assert sum(row["explained_ns"] for row in blocks) == pytest.approx(explained)


def chunked(gap: Gap, chunk: int) -> float:
    """All that is no prefill, and of the prefill the share that a chunk is of its tokens."""
    kept = min(1.0, chunk / max(gap.dose_tokens, 1))
    return gap.gap_ns - gap.prefill_ns * (1 - kept)


def test_one_stall_of_many_streams_is_in_one_block(library: Library) -> None:
    """All gaps that a stall makes end at the same time.

    Ends from 10 ms to 9.99 s are 9.98 s apart: at most 5 blocks are 2 s each.
    """
    stalled = [running(f"s{n}", [10] * 99 + [1000] + [10] * 800, 0) for n in range(4)]
    library.bind([*stalled, prompted("p", 1000, 1990, 4096)])
    blocks = library.rows("interference_blocks(blocks := 5)")
    (dosed,) = (row for row in blocks if row["dose_step"] > 0)
    assert (dosed["dose_step"], dosed["gaps"]) == (13, 4)
    assert {row["block"] for row in blocks} == {0, 1, 2, 3, 4}
    assert dosed["block"] == 0


def missed(library: Library, chunk: int = CHUNK, **asked: int) -> dict[str, tuple[int, ...]]:
    found = library.rows(f"removable_misses({limits(**asked)}, chunk_budget := {chunk})")
    counts = ("missed", "apart", "chunked", "neither")
    return {row["statistic"]: tuple(row[name] for name in counts) for row in found}


def test_who_could_be_helped(library: Library) -> None:
    """Limits: worst gap 100 ms, average 20 ms.

    helped: 310 ms with 300 of prefill of 3,000 tokens in it; with a chunk of 500, 10 + 50 ms.
    half: 310 ms with 100 of prefill of 1,000 tokens in it: 210 without, 260 with a chunk.
    slow: its own steps are 150 ms. calm: no miss. Averages: helped (20 * 10 + 310) / 21 = 24.3
    with, 10 without its prefill; half the same, 19.5 without; slow 150.
    """
    library.bind([
        running("helped", [*[10] * 10, 310, *[10] * 10], decode_worker="w0"),
        prompted("long", 105, 405, 3000),
        running("half", [*[10] * 10, 310, *[10] * 10], decode_worker="w1"),
        running("short", [], 300, decode_worker="w1", prompt_tokens=1000,
                stages=[prefill(200, 300, "w1")]),
        running("slow", [150] * 4, decode_worker="w2"),
        running("calm", [10] * 4, decode_worker="w3"),
    ])  # fmt: skip
    found = missed(library, 500, worst_gap=100 * MS, tpot=20 * MS)
    assert found == {"tpot": (3, 2, 0, 1), "worst_gap": (3, 1, 1, 2), "any": (3, 1, 0, 2)}
    assert missed(library, 100, worst_gap=12 * MS) == {
        "worst_gap": (3, 1, 0, 2), "any": (3, 1, 0, 2),
    }  # fmt: skip


def test_own_percentiles_end_to_end_and_what_never_came(library: Library) -> None:
    """Of 21 gaps, the one of 310 ms is above the 90th percentile and makes the 99th.

    Position 0.99 * 20 = 19.8: 10 + 0.8 * 300 = 250 ms; 10 without the prefill, 40 with a tenth of
    its 3,000 tokens: 10 + 0.8 * 30 = 34. End to end 5 + 510 ms, 300 of them prefill.
    """
    streams = [
        running("a", [*[10] * 10, 310, *[10] * 10]),
        prompted("long", 105, 405, 3000),
    ]
    library.bind(streams)
    asked = {"gap_p90": 12 * MS, "gap_p99": 35 * MS, "e2e": 300 * MS, "ttft": 4 * MS}
    found = missed(library, 300, **asked)
    # `long` waited 305 ms at least by its own stamps, of which 300 were prefill.
    assert found["gap_p99"] == (1, 1, 1, 0)
    assert "gap_p90" not in found
    assert found["e2e"] == (1, 1, 0, 0)
    assert found["ttft"] == (2, 0, 0, 2)
    assert found["any"] == (2, 0, 0, 2)
    failed = running("a", [*[10] * 10, 310, *[10] * 10], status="failed")
    library.bind([failed, streams[1]])
    assert missed(library, worst_gap=100 * MS)["worst_gap"] == (1, 0, 0, 1)


def test_a_request_is_helped_when_all_its_choices_are(library: Library) -> None:
    gaps = [*[10] * 10, 310, *[10] * 10]
    library.bind([
        running("a", gaps, choice=0),
        running("a", [*[10] * 30, 310], choice=1),
        prompted("long", 105, 405, 3000),
    ])  # fmt: skip
    # Choice 1 stalls from 300 to 610 ms, of which the prefill ran 105, with 1,050 of its tokens:
    # 205 ms without, and with a chunk of 525 half of them more, 257.5 ms.
    for limit_ms, helped in ((204, (1, 0, 0, 1)), (205, (1, 1, 0, 0)), (258, (1, 1, 1, 0))):
        assert missed(library, 525, worst_gap=limit_ms * MS)["worst_gap"] == helped


def test_single_steps_around_the_mean_of_their_stream(library: Library) -> None:
    """a: 8 calm gaps of 5 and 15 ms, mean 10. b: 7 only. c: one of 8 has a prefill in it."""
    library.bind([
        running("a", [5, 15] * 4, prompt_tokens=0, arrival_ns=0),
        running("b", [5, 15] * 3 + [5], decode_worker="w1", prompt_tokens=0, arrival_ns=0),
        running("c", [7] * 7 + [70], decode_worker="w2", prompt_tokens=0, arrival_ns=0),
        running("d", [], 80, decode_worker="w2", stages=[prefill(60, 80, "w2")]),
    ])  # fmt: skip
    found = library.rows("step_jitter")
    # 10^(-0.31) = 0.49 and 10^(0.17) = 1.48 are the steps of 0.5 and 1.5.
    assert [(row["ratio_step"], row["gaps"], row["ratio"]) for row in found] == [
        (-31, 4, 0.5), (17, 4, 1.5),
    ]  # fmt: skip


def test_nothing_beside_nothing(library: Library) -> None:
    library.bind([])
    assert library.rows("dose_response") == library.rows("prefill_steps") == []
