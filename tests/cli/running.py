"""Run the command line in this process."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from tokengap.cli import main

SAMPLES = Path(__file__).parents[2] / "sample_traces"
VICTIMS = str(SAMPLES / "vllm-bench" / "bench_victims_mono8192.json.gz")
LIMITS = ("--limit", "tpot=50ms", "--limit", "worst_gap=500ms")


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as strict JSON."""
        return json.loads(self.out, parse_constant=_refuse)


def tokengap(*args: str, stdin: bytes | None = None) -> Ran:
    """Run one command; an exception that is no exit fails the test with its traceback."""
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        main, args, input=stdin, catch_exceptions=False, prog_name="tokengap", terminal_width=80
    )
    return Ran(result.exit_code, result.stdout, result.stderr)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
