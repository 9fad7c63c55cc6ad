"""Audits of logs written by hand, through the public command."""

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from tests.cases.commands import run, strict_json, write_log
from tests.cases.convert import Record, stream_line
from tests.report.html import Page

MS: Final = 1_000_000
LIMITS: Final = ("--limit", "tpot=50ms", "--limit", "worst_gap=500ms")


def request(name: str, gaps_ms: Sequence[int], tokens: int | None = None, **facts: Any) -> Record:
    """A request whose first token came after 100 ms; tokens: N, one per delivery by default."""
    times = [t * MS for t in accumulate(gaps_ms, initial=100)]
    count = {"output_tokens": tokens or len(times), "token_count_source": "usage"}
    return stream_line(name, times, **(count | facts))


ONE_OF_EACH: Final = [
    request("fine", [10] * 10),  # average 10, worst 10
    request("hidden", [10] * 19 + [610]),  # average (190 + 610) / 20 = 40, worst 610
    request("slow", [60] * 10),  # average 60, worst 60
    request("both", [600, 700]),  # average 650, worst 700
    request("possible", [600], 20),  # average between 600 / 19 = 31.6 and 600, worst 600
    request("undecided", [400], 20),  # average between 400 / 19 = 21.1 and 400, worst 400
    request("single", []),  # neither exists
    request("broken", [10], status="failed"),
]
"""Under `LIMITS`, one request of every kind."""


def text_of(folder: Path, records: Sequence[Record | str], *args: str) -> str:
    """What the audit prints."""
    return run("audit", str(write_log(folder / "log.jsonl", records)), *args)


def page_of(folder: Path, records: Sequence[Record | str], *args: str) -> tuple[Page, Record]:
    """The page of an audit, and the same audit as JSON."""
    file = folder / "audit.html"
    printed = text_of(folder, records, *args, "--json", "--html", str(file), "--force")
    return Page(file.read_text("utf-8")), strict_json(printed)


def written(folder: Path, records: Sequence[Record | str], *args: str) -> Path:
    """Everything that an audit writes, in one folder."""
    files = {
        "--html": "audit.html", "--md": "audit.md", "--perfetto": "trace.json",
        "--charts": "charts", "--csv": "csv",
    }  # fmt: skip
    options = [part for option, name in files.items() for part in (option, str(folder / name))]
    printed = text_of(folder, records, *args, *options, "--json")
    (folder / "audit.json").write_text(printed, "utf-8")
    return folder
