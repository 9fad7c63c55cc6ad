"""Verdicts, and their reasons in words."""

from dataclasses import replace

import pytest

from tokengap.baseline import Effect, Estimate, Evidence, Misses, judge

MS = 1_000_000
EFFECT = Effect(
    gaps=10_000,
    exposed_gaps=200,
    exposed_blocks=40,
    calm_gap_ns=Estimate(8 * MS, 7 * MS, 9 * MS),
    exposed_gap_ns=Estimate(60 * MS, 40 * MS, 90 * MS),
    added_ns_per_token=Estimate(300_000, 250_000, 350_000),
    prefill_share=0.1,
    excess_share=0.3,
    explained_share=Estimate(0.6, 0.4, 0.8),
)
MISSES = Misses("any", None, missed=20, apart=12, chunked=4, neither=8)
EVIDENCE = Evidence(
    effect=EFFECT, misses=MISSES, requests=100, has_limits=True, queued_share=0.1,
    average_limit_ns=50 * MS,
)  # fmt: skip
NOBODY = Misses("any", None, 0, 0, 0, 0)
NO_EFFECT = replace(EFFECT, added_ns_per_token=Estimate(1_000, -5_000, 9_000))


def test_interference_that_separation_could_help() -> None:
    found = judge(EVIDENCE)
    assert found.name == "interference"
    assert found.why[0] == (
        "20 of 100 requests miss a limit; without other requests' prefills in their gaps, 12 would "
        "not, at most."
    )
    assert "60 ms on average beside a prefill (200 gaps) and 8 ms without" in found.why[1]
    assert (
        "60.0 % of what long gaps last beyond their streams' pace (40.0 % to 80.0 %)"
        in found.why[2]
    )
    assert found.why[3].startswith("Neither separation nor chunks could help 8 of the 20")


@pytest.mark.parametrize(
    ("evidence", "says"),
    [
        (replace(EVIDENCE, misses=NOBODY), "nobody is harmed by it"),
        (replace(EVIDENCE, misses=NOBODY, effect=NO_EFFECT), "nothing that separation could solve"),
        (replace(EVIDENCE, effect=NO_EFFECT), "than chance would have it"),
        (replace(EVIDENCE, effect=replace(EFFECT, gaps=0)), "shows no gaps of completed ones"),
        (replace(EVIDENCE, effect=replace(EFFECT, exposed_blocks=2)), "than chance would have it"),
        (
            replace(EVIDENCE, effect=replace(EFFECT, explained_share=Estimate(0.1, 0.0, 0.3))),
            "than chance would have it",
        ),
        (replace(EVIDENCE, misses=replace(MISSES, missed=130)), "12 would not: too few"),
        (replace(EVIDENCE, misses=replace(MISSES, missed=2, apart=2)), "2 would not: too few"),
    ],
)
def test_no_measured_interference(evidence: Evidence, says: str) -> None:
    found = judge(evidence)
    assert found.name == "no measured interference"
    assert says in found.why[0]


def test_work_that_queues_is_a_matter_of_provisioning_even_beside_interference() -> None:
    found = judge(replace(EVIDENCE, queued_share=0.51))
    assert found.name == "provisioning"
    assert "51.0 % of the wait for their first token in a queue" in found.why[0]
    assert any(why.startswith("Prefills interfere as well: without them, 12") for why in found.why)
    assert judge(replace(EVIDENCE, queued_share=0.5)).name == "interference"
    assert judge(replace(EVIDENCE, queued_share=None)).name == "interference"
    calm = judge(replace(EVIDENCE, queued_share=0.9, misses=NOBODY))
    assert calm.name == "no measured interference"  # a queue that keeps every promise


def test_a_pace_over_the_limit_is_a_matter_of_provisioning() -> None:
    found = judge(replace(EVIDENCE, average_limit_ns=7 * MS))
    assert found.name == "provisioning"
    assert "8 ms on average, over the limit of 7 ms" in found.why[0]
    assert judge(replace(EVIDENCE, average_limit_ns=8 * MS)).name == "interference"


def test_chunks_that_help_as_many_come_first() -> None:
    assert (
        "Chunked prefill could help as many as separation: try that first."
        in judge(replace(EVIDENCE, misses=replace(MISSES, chunked=12))).why
    )
    assert not any("try that first" in why for why in judge(EVIDENCE).why)


def test_without_limits_it_says_what_a_stall_is() -> None:
    found = judge(replace(EVIDENCE, has_limits=False))
    assert found.why[0].startswith("20 of 100 requests stall;")
    assert "No limit is given: a gap over 20 of its stream's own steps is a stall." in found.why


def test_a_log_without_prefills_beside_gaps_says_so() -> None:
    unknown = Estimate(None, None, None)
    none = replace(
        EFFECT, exposed_gaps=0, exposed_blocks=0, exposed_gap_ns=unknown,
        added_ns_per_token=unknown, explained_share=Estimate(0.0, 0.0, 0.0),
    )  # fmt: skip
    found = judge(replace(EVIDENCE, effect=none, misses=replace(MISSES, apart=0, chunked=0)))
    assert found.name == "no measured interference"
    assert "No gap has a prefill of another request beside it that this log shows." in found.why
