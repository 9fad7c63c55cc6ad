"""Causes in recorded runs, against what is known of how each stall was made.

The vLLM runs were looked into by hand, request by request; the mock server behind the SGLang client
wrote down when it meant to send each token.
"""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.adapters.reading import SAMPLES, records
from tests.queries.given import MS, Library, Row
from tests.queries.stalls import caused
from tokengap.store.connect import Declared

BENCH: Final = SAMPLES / "vllm-bench"
STALL_NS: Final = 500 * MS


def causes(
    library: Library, *paths: Path, limit_ns: int = STALL_NS, declared: Declared | None = None
) -> list[Row]:
    library.read(paths, declared or Declared())
    return caused(library, worst_gap=limit_ns)


def test_long_prompts_stop_the_quiet_run_and_other_pauses_are_told_from_them(
    library: Library,
) -> None:
    quiet = BENCH / "bench_victims_mono8192_quiet.json.gz"
    long = BENCH / "bench_interferers_mono8192_quiet.json"
    found = causes(library, quiet, long, declared=Declared(same_clock=True))
    victims = [row for row in found if row["trace"] == "bench_victims_mono8192_quiet"]
    by_cause = {
        named: Counter(int(row["request_id"]) for row in victims if row["cause"] == named)
        for named in {row["cause"] for row in victims}
    }
    made = Counter([22, 23, 24, 27, 28, 33, 38, 39, 40, 45, 45])
    held = Counter([5, 6, 7, 8, 14, 52, 53, 54, 55])
    # nothing missed, nothing mistaken: precision and recall are 1 for both
    assert by_cause == {"prefill_interference": made, "delivery_pause": held}
    for row in victims:
        if row["cause"] == "prefill_interference":
            assert (row["by_trace"], row["by_prompt_tokens"]) == (
                "bench_interferers_mono8192_quiet", 3000,
            )  # fmt: skip
            assert abs(row["by_end_ns"] - row["end_ns"]) <= 2 * MS
            assert row["basis"] == "inferred"  # the file logs no worker and no prefill


def test_without_the_long_requests_no_prefill_is_blamed(library: Library) -> None:
    found = causes(library, BENCH / "bench_victims_mono8192_quiet.json.gz")
    assert Counter(row["cause"] for row in found) == {
        "delivery_pause": 9, "shared_pause": 8, "unexplained": 3
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "stalls"),
    [("bench_victims_chunked256_quiet.json.gz", 19), ("bench_victims_chunked256.json.gz", 4)],
)
def test_with_chunked_prefill_all_long_gaps_are_pauses_in_delivery(
    library: Library, name: str, stalls: int
) -> None:
    found = causes(library, BENCH / name)
    assert [row["cause"] for row in found] == ["delivery_pause"] * stalls


def test_preemption_that_no_file_names_is_not_called_interference(library: Library) -> None:
    found = causes(library, BENCH / "bench_preempt.json.gz")
    assert [row["cause"] for row in found] == ["unexplained"] * 12


def test_the_first_gaps_of_a_split_run_are_the_handoff(library: Library) -> None:
    declared = Declared(last_prefill_token=1)
    found = causes(
        library, BENCH / "bench_pd_forward.json.gz", limit_ns=100 * MS, declared=declared
    )
    first = [row for row in found if row["gap_index"] == 1]
    assert len(first) >= 20
    assert {(row["cause"], row["basis"]) for row in first} == {("handoff", "declared")}
    assert "handoff" not in {row["cause"] for row in found if row["gap_index"] > 1}


def planned(folder: Path) -> dict[str, list[float]]:
    """When each token was due, in ms, by the client's index; a warm-up request came first."""
    truth = sorted(records(folder / "truth.jsonl.gz"), key=lambda each: each["req"])
    return {str(each["req"] - 1): each["plan_offsets_ms"] for each in truth}


def planned_gap_ns(due_ms: dict[str, list[float]], row: Row) -> float:
    before, after = due_ms[row["request_id"]][row["gap_index"] - 1 :][:2]
    return (after - before) * MS


@pytest.mark.parametrize("name", ["client_stall_oai_single", "client_stall_chat_roleusage"])
def test_a_machine_that_paused_makes_pauses_in_delivery(library: Library, name: str) -> None:
    """The mock server keeps to its plan, so what a busy machine holds up comes in a burst."""
    folder = SAMPLES / "sglang-bench" / name
    limit_ns = 35 * MS
    found = causes(library, folder, limit_ns=limit_ns)
    due_ms = planned(folder)
    # precision: the gap is longer than the plan's by more than a step of 10 ms
    paused = [row for row in found if row["cause"] == "delivery_pause"]
    assert all(row["gap_ns"] - planned_gap_ns(due_ms, row) > 10 * MS for row in paused)
    # recall: of the gaps that were not planned to be so long
    late = [row for row in found if planned_gap_ns(due_ms, row) <= limit_ns]
    told = [row for row in late if row["cause"] == "delivery_pause"]
    assert len(told) >= 0.65 * len(late) > 3
    # the stalls that the server made on purpose are nobody's prefill
    assert "prefill_interference" not in {row["cause"] for row in found}
