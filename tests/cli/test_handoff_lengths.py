from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.handoffs import split_log
from tests.cli.running import VICTIMS, Ran, tokengap
from tests.handoff.worked import MIB, MS

WORKED: Final = ("--prefill", "40ms", "--step", "10ms", "--cache", "16MiB", "--bandwidth", "1GiB/s")


def lengths(*args: str) -> Ran:
    return tokengap("handoff", "lengths", *WORKED, "--limit", "worst_gap=20ms", *args)


def test_the_worked_case_hides_from_three_tokens_on() -> None:
    """10 + 15.625 / (N - 1) ms against 20 ms; the average has the gap's limit unless said."""
    found: Any = lengths("--json").json()
    assert found["schema"] == "tokengap.handoff.lengths/1"
    assert (found["hidden_from_tokens"], found["reason"]) == (3, None)
    assert found["limits_ns"] == {"worst_gap": 20 * MS, "tpot": 20 * MS}
    shown = {row["output_tokens"]: row for row in found["lengths"]}
    assert (shown[2]["tpot_ns"], shown[2]["hidden"]) == (25_625_000, False)
    assert (shown[3]["tpot_ns"], shown[3]["hidden"]) == (17_812_500, True)
    assert all(row["worst_gap_ns"] == 25_625_000 for row in found["lengths"])
    assert found["responses"] is None


def test_the_share_of_a_trace_that_is_long_enough(tmp_path: Path) -> None:
    """A tighter average, 11 ms: 15.625 / (N - 1) <= 1 from N = 17 on."""
    args = ("--limit", "tpot=11ms", "--json", VICTIMS)
    found: Any = lengths(*args).json()
    assert found["hidden_from_tokens"] == 17
    told: Any = tokengap("query", "response_lengths", VICTIMS, "--json").json()
    long = sum(row["requests"] for row in told if row["output_tokens"] >= 17)
    assert found["responses"]["hidden"] == long
    assert found["responses"]["known"] == sum(row["requests"] for row in told)
    short = split_log(tmp_path / "short.jsonl", [(MIB, MS)] * 4)  # three tokens each
    found = lengths("--limit", "tpot=11ms", "--json", str(short)).json()
    assert found["responses"] == {"known": 4, "unknown": 0, "hidden": 0, "hidden_share": 0.0}


def test_text_and_page(tmp_path: Path) -> None:
    page = tmp_path / "lengths.html"
    ran = lengths("--html", str(page), VICTIMS)
    assert "From 3 tokens on, the average passes and the worst gap, 25.625 ms, does not." in ran.out
    assert "60 of 60 completed responses (100 %) are as long." in ran.out
    assert "hidden from 3 tokens on" in page.read_text()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--first-token", "withheld"), "nothing to hide"),
        (("--limit", "tpot=9ms"), "the step alone"),
    ],
)
def test_why_nothing_is_hidden(args: tuple[str, ...], says: str) -> None:
    assert says in lengths(*args).out


def test_without_a_limit_on_the_worst_gap_nothing_can_be_hidden() -> None:
    ran = tokengap("handoff", "lengths", *WORKED)
    assert ran.code == 2
    assert "needs a limit on worst_gap" in ran.err
