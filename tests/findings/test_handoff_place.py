"""Where the handoff is said to sit."""

from typing import Any

from tests.findings.given import MS, said
from tokengap.findings.handoff_place import handoff_place


def place(**given: Any) -> dict[str, Any]:
    nothing = {
        "place": "gap", "last_prefill_token": 1, "handoff_source": "declared", "requests": 50,
        "n": 0, "not_observable": 0, "p50_ns": None, "max_ns": None, "other_gap_p50_ns": None,
        "is_worst_gap": 0,
    }  # fmt: skip
    return nothing | given


def test_first_gap_with_its_numbers_beside_the_other_gaps() -> None:
    row = place(n=49, p50_ns=119.8 * MS, max_ns=1068 * MS, other_gap_p50_ns=10.0 * MS,
                is_worst_gap=22, not_observable=1)  # fmt: skip
    (finding,) = said(handoff_place, handoff=[row])
    assert finding.level == "note"
    for part in (
        "the first gap of 50 requests", "boundary stream", "last prefill token 1, declared",
        "n 49", "median 119.8 ms", "max 1.07 s", "against 10 ms", "in 22", "not observable in 1",
    ):  # fmt: skip
        assert part in finding.says, part


def test_later_gap_is_named_by_its_token() -> None:
    (finding,) = said(handoff_place, handoff=[place(last_prefill_token=3)])
    assert "the gap after token 3" in finding.says


def test_inside_ttft_and_none() -> None:
    inside = place(place="inside_ttft", last_prefill_token=0)
    none = place(place="none", last_prefill_token=None, handoff_source="none")
    first, second = said(handoff_place, handoff=[inside, none])
    assert "inside TTFT for 50 requests" in first.says
    assert "none in 50 requests" in second.says


def test_not_known_says_how_to_declare_it() -> None:
    row = place(place="unknown", last_prefill_token=None, handoff_source=None)
    (finding,) = said(handoff_place, handoff=[row])
    assert finding.level == "unknown"
    assert finding.advice is not None
    assert "--last-prefill-token" in finding.advice
