from pathlib import Path

import pytest

from tests.cases.commands import run
from tests.cases.convert import bench_document
from tests.report.auditing import LIMITS, ONE_OF_EACH, request, text_of


def cells(line: str) -> list[str]:
    """Cells of a printed table's row."""
    return [cell for cell in line.strip().split("  ") if cell]


def row(text: str, name: str) -> list[str]:
    """The last row that starts with a name."""
    *_, found = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return [cell.strip() for cell in cells(found)]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    return text_of(tmp_path_factory.mktemp("each"), ONE_OF_EACH, *LIMITS)


def test_the_verdict_comes_first(printed: str) -> None:
    verdict = (
        "● 1 of 7 completed requests stalled although their average is fine "
        "(average TPOT ≤ 50 ms met, worst gap ≤ 500 ms missed)."
    )
    assert printed.splitlines()[:4] == [
        "log",
        "client, times from sent; 8 streams; 7 completed, 1 failed",
        verdict,
        "? 1 more may: the log does not decide one of the two verdicts.",
    ]


def test_objectives_carry_counts_and_where_they_were_set(printed: str) -> None:
    found = row(printed, "worst gap")
    assert row(printed, "average TPOT")[:6] == ["average TPOT", "≤ 50 ms", "3", "2", "1", "2"]
    assert found[-1] == "--limit"
    assert row(printed, "all of them")[:4] == ["all of them", "2", "6", "25 %"]


def test_percentiles_carry_n_basis_and_bounds(printed: str) -> None:
    assert row(printed, "average TPOT, per request")[:4] == [
        "average TPOT, per request", "6", "1", "35.8 ms to 230 ms*",
    ]  # fmt: skip
    assert row(printed, "all gaps, per gap")[:3] == ["all gaps, per gap", "44", "0"]
    assert "* rests on fewer than ten samples" in printed


def test_stalls_carry_their_place(printed: str) -> None:
    assert row(printed, "hidden") == [
        "hidden", "100 ms", "40 ms", "610 ms", "after token 20",
        "shared pause of 2 in 2 streams (inferred)",
    ]  # fmt: skip
    assert row(printed, "possible")[4] == "after delivery 1"


def test_a_long_list_is_cut_and_says_so(tmp_path: Path) -> None:
    log = [request(f"r{n}", [10] * 19 + [600 + n]) for n in range(52)]
    short = text_of(tmp_path, log, *LIMITS)
    assert "... and 2 more; --all-stalls lists them" in short
    assert "r1 " not in short
    assert row(text_of(tmp_path, log, *LIMITS, "--all-stalls"), "r1")[3] == "601 ms"


def test_without_limits_the_largest_ratios_are_shown(tmp_path: Path) -> None:
    printed = text_of(tmp_path, ONE_OF_EACH)
    assert "\nno limits given; try --limit tpot=50ms --limit worst_gap=500ms\n" in printed
    # 610 / 40 = 15.25, an even tie in binary
    assert row(printed, "hidden") == ["hidden", "40 ms", "610 ms", "15.2", "after token 20"]
    assert "objectives" not in printed


def test_a_terminal_obeys_nothing_that_a_log_says(tmp_path: Path) -> None:
    log = [request("[/red][bold]a\x1b[2J\u202e", [10] * 19 + [610])]
    printed = text_of(tmp_path, log, "--trace", "[link=x]t[/b]\x1b]0;x\x07", *LIMITS)
    assert printed.startswith("[link=x]t[/b]\ufffd]0;x\ufffd\n")
    assert "[/red][bold]a\ufffd[2J\ufffd " in printed
    assert "\x1b" not in printed


def test_several_traces_are_named_with_their_requests(tmp_path: Path) -> None:
    for name, stall_s in (("one", 0.61), ("two", 0.62)):
        document = bench_document({"ttfts": [0.1], "itls": [[0.01] * 19 + [stall_s]]})
        (tmp_path / f"{name}.json").write_text(document, "utf-8")
    printed = run("audit", str(tmp_path / "one.json"), str(tmp_path / "two.json"), *LIMITS)
    assert printed.startswith("one, two\n")
    assert row(printed, "one/0")[3] == "610 ms"
    assert row(printed, "two/0")[3] == "620 ms"
