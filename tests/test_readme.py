"""What the README says is true."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import tokengap
from tests.documentation import BLOCKS, README, generated

TEXT = README.read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def test_generated_parts_are_up_to_date() -> None:
    assert generated(TEXT) == TEXT
    assert set(re.findall(r"<!-- generated: (\w+) -->", TEXT)) == set(BLOCKS)


def test_first_command_says_what_the_text_says() -> None:
    command = next(line for line in TEXT.splitlines() if "tokengap audit sample_traces" in line)
    arguments = command.split("tokengap audit ")[1].split()
    arguments[0] = str(README.parent / arguments[0])
    assert "23 of 60 completed requests stalled" in tokengap("audit", *arguments).out


def test_picture_is_there() -> None:
    found = re.search(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert found is not None
    assert (README.parent / found[1]).is_file()


def test_ten_lines_of_a_proxy_write_a_log_that_can_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    proxy: dict[str, object] = {}
    exec(block("python"), proxy)  # noqa: S102 (the README's own example)

    async def upstream() -> AsyncIterator[str]:
        for word in ("a", "b", "c"):
            yield word

    async def serve() -> list[str]:
        relay = proxy["relay"]
        return [chunk async for chunk in relay("r-1", upstream())]  # type: ignore[operator]

    assert asyncio.run(serve()) == ["a", "b", "c"]
    proxy["log"].close()  # type: ignore[attr-defined]
    (row,) = tokengap("query", "request_latency", "tokens.jsonl", "--json").json()
    assert (row["vantage"], row["status"], row["origin"]) == ("gateway", "completed", "received")
    assert row["output_tokens"] == 3
    assert row["ttft_ns"] > 0


def test_slo_file_of_the_text_is_read(tmp_path: Path) -> None:
    slo = tmp_path / "slo.toml"
    slo.write_text(block("toml"), "utf-8")
    sample = README.parent / "sample_traces" / "tokengap" / "pd_forward_events.jsonl.gz"
    report = tokengap("audit", str(sample), "--slo", str(slo), "--json").json()
    limits = {row["statistic"]: row["limit_ns"] for row in report["objectives"]}
    assert limits == {"ttft": 500_000_000, "tpot": 50_000_000, "worst_gap": 500_000_000}
