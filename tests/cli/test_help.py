"""Help: golden files, and what it must not cost.

After a wanted change of an option: `python -m tests.cli.test_help` writes the golden files anew.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import tokengap
from tokengap.cli import COMMANDS
from tokengap.cli.handoff import SUBCOMMANDS as HANDOFF
from tokengap.cli.replay import SUBCOMMANDS as REPLAY
from tokengap.cli.report import SUBCOMMANDS as REPORT
from tokengap.cli.slo import SUBCOMMANDS as SLO
from tokengap.cli.store import SUBCOMMANDS as STORE

GOLDEN = Path(__file__).parent / "golden"
GROUPS = {"store": STORE, "handoff": HANDOFF, "replay": REPLAY, "report": REPORT, "slo": SLO}
HELPED = (
    "tokengap",
    *COMMANDS,
    *(f"{group} {name}" for group, names in GROUPS.items() for name in names),
)
HEAVY = ("duckdb", "pyarrow", "polars", "numpy", "altair", "vl_convert", "deltalake", "rich")


def helped(command: str) -> str:
    return tokengap(*([] if command == "tokengap" else command.split()), "--help").out


def golden(command: str) -> Path:
    return GOLDEN / f"{command.replace(' ', '-')}.txt"


@pytest.mark.parametrize("command", HELPED)
def test_help_is_as_agreed(command: str) -> None:
    assert helped(command) == golden(command).read_text("utf-8")


def test_every_golden_file_has_a_command() -> None:
    assert set(GOLDEN.glob("*.txt")) == {golden(command) for command in HELPED}


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from tokengap.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_version_is_the_packages() -> None:
    from tokengap import __version__  # noqa: PLC0415

    assert tokengap("--version").out == f"{__version__}\n"


def test_unknown_command_is_a_usage_error() -> None:
    assert tokengap("audti").code == 2


if __name__ == "__main__":
    for name in HELPED:
        golden(name).write_text(helped(name), "utf-8")
