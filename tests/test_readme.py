"""What the README says is true."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.reading import read
from tests.cli.running import VICTIMS, tokengap
from tests.documentation import BLOCKS, README, generated
from tests.samples import AUDITS, ENDINGS, PICTURED, REPORTS
from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter, Head
from tokengap.adapters.source import Source
from tokengap.report.render import BOUNDS

TEXT = README.read_text("utf-8")


def block(language: str, says: str = "") -> str:
    """The first block in a language that says something."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return next(found for found in blocks if says in found)


def test_generated_parts_are_up_to_date() -> None:
    assert generated(TEXT) == TEXT
    assert set(re.findall(r"<!-- generated: (\w+) -->", TEXT)) == set(BLOCKS)


def test_first_command_says_what_the_text_says() -> None:
    command = next(line for line in TEXT.splitlines() if "tokengap audit sample_traces" in line)
    arguments = command.split("tokengap audit ")[1].split()
    arguments[0] = str(README.parent / arguments[0])
    assert "23 of 60 completed requests stalled" in tokengap("audit", *arguments).out


def test_exports_are_options_of_the_audit() -> None:
    section = TEXT.split("\n## Exports\n")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(--[a-z]+)", section, re.MULTILINE))
    assert named == {"--html", "--md", "--charts", "--csv", "--perfetto", "--json"}
    shown = tokengap("audit", "--help").out
    assert all(f"  {option} " in shown for option in named)


def test_bounds_of_the_text_are_those_of_the_renderer() -> None:
    assert f"within {BOUNDS.memory_bytes // 2**30} GiB and {BOUNDS.time_s // 60} minutes" in TEXT


def test_samples_of_the_text_are_there_and_say_what_the_text_says() -> None:
    assert set(re.findall(r"\(reports/(\w+)\.md\)", TEXT)) == set(AUDITS)
    for name in AUDITS:
        assert all((REPORTS / f"{name}.{ending}").is_file() for ending in ENDINGS)
    pictured = json.loads((REPORTS / f"{PICTURED[0]}.json").read_text("utf-8"))
    (average,) = (row for row in pictured["objectives"] if row["name"] == "tpot")
    completed = pictured["counts"]["completed"]
    assert f"{average['met']} of {completed} requests meet an average of 50 ms" in TEXT
    assert f"; {pictured['hidden_stalls']['count']} of them stood still" in TEXT


def test_picture_is_there() -> None:
    found = re.search(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert found is not None
    assert (README.parent / found[1]).is_file()


def test_ten_lines_of_a_proxy_write_a_log_that_can_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    proxy: dict[str, object] = {}
    exec(block("python", "def note"), proxy)  # noqa: S102 (the README's own example)

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


def test_notebook_of_the_text_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_traces").symlink_to(README.parent / "sample_traces")
    monkeypatch.chdir(tmp_path)
    cell: dict[str, Any] = {}
    exec(block("python", "tokengap.audit"), cell)  # noqa: S102 (the README's own example)
    assert cell["audit"].counts["hidden_stalls"] == 23
    assert (tmp_path / "audit.html").is_file()
    section = TEXT.split("\n## In a notebook\n")[1].split("\n## ")[0]
    named = re.findall(r"`(\w+)[(`]", section.split("|---|---|")[1].split("\n\n")[0])
    public = {name for name in dir(cell["audit"]) if not name.startswith("_")}
    assert set(named) == public - {"close"}


def test_budget_of_the_text_says_what_the_text_says() -> None:
    (command,) = block("bash", "tokengap handoff check").splitlines()
    section = TEXT.split("\n## Does the cache fit through the link?\n")[1].split("\n## ")[0]
    ran = tokengap(*command.split()[1:])
    layered = tokengap(*command.split()[1:], "--overlap", "layers")
    assert (ran.code, layered.code) == (1, 0)
    for value in ("1.25 GiB", "429.496730 ms", "449.496730 ms", "24.338351 ms", "6.94 GiB/s"):
        assert value in section
        assert value in ran.out
    assert tokengap(*command.split()[1:], "--json").json()["inverse"]["max_prompt_tokens"] == 1716
    assert "536 MiB (1716 tokens)" in section
    assert "54.496730 ms" in section
    assert "54.496730 ms" in layered.out


def test_map_of_the_text_reads_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requests.csv").write_text(block("csv"), "utf-8")
    (tmp_path / "requests.toml").write_text(block("toml", "[columns]"), "utf-8")
    command = block("bash", "--map").split()
    # a: 460 ms on average and 900 ms at worst; b: 25 ms and 30 ms
    report = tokengap(*command[1:], "--json").json()
    assert [stall["request_id"] for stall in report["hidden_stalls"]["requests"]] == ["a"]
    assert (report["counts"]["completed"], report["good"]) == (2, 1)


def test_adapter_of_the_text_reads_its_lines(tmp_path: Path) -> None:
    written: dict[str, Any] = {"__name__": "example"}
    exec(block("python", "class MyGateway"), written)  # noqa: S102 (the README's own example)
    adapter: Adapter = written["MyGateway"]()
    log = tmp_path / "gateway.jsonl"
    log.write_text('{"id": "a", "sent_us": 0, "token_us": [200000, 210000]}\n{"id": 1}\n', "utf-8")
    source = Source(str(log), log)
    assert adapter.sniff(Head(source.head)).matches
    assert not any(shipped.sniff(Head(source.head)).matches for shipped in ADAPTERS)
    reading = read(adapter, log)
    (row,) = reading.rows
    assert (row["received_ns"], row["first_token_ns"], row["gaps_ns"]) == (0, 2 * 10**8, [10**7])
    assert [reject.line for reject in reading.intake.rejects] == [2]


def test_slo_file_of_the_text_is_read(tmp_path: Path) -> None:
    slo = tmp_path / "slo.toml"
    slo.write_text(block("toml", "[limits]"), "utf-8")
    sample = README.parent / "sample_traces" / "tokengap" / "pd_forward_events.jsonl.gz"
    report = tokengap("audit", str(sample), "--slo", str(slo), "--json").json()
    limits = {row["statistic"]: row["limit_ns"] for row in report["objectives"]}
    assert limits == {"ttft": 500_000_000, "tpot": 50_000_000, "worst_gap": 500_000_000}


def test_promises_of_the_text_are_what_the_text_says(tmp_path: Path) -> None:
    slo = tmp_path / "slo.toml"
    slo.write_text(block("toml", "[[service]]"), "utf-8")
    told = tokengap("slo", "check", str(slo), "--as-of", "2026-11-30").out
    assert "takes    requests with deployment chat-*, slo_class interactive or premium" in told
    assert "worst_gap <= 400 ms in 99 % of requests; from 2026-11-01" in told
    assert "500 ms" not in told
    options = ("--slo", str(slo), "--service", "chat", "--as-of", "2026-10-31", "--json")
    report = tokengap("audit", VICTIMS, *options).json()
    assert [(o["statistic"], o["limit_ns"]) for o in report["objectives"]] == [
        ("worst_gap", 500_000_000)
    ]


def test_baseline_of_the_text_says_what_the_text_says() -> None:
    (command,) = block("bash", "tokengap baseline").splitlines()
    section = TEXT.split("\n## Would separation pay?\n")[1].split("\n## ")[0]
    arguments = [
        str(README.parent / word) if word.startswith("sample_traces") else word
        for word in command.split()[1:]
    ]
    ran = tokengap(*arguments)
    assert "Verdict: interference" in ran.out
    assert "21 of 68 requests miss a limit;" in ran.out
    assert "21 of 68 requests miss a limit, and 12 of them would not" in section
    for value in ("60.6 ms", "8.00 ms", "1.09 s"):
        assert value in section
        assert value in ran.out
