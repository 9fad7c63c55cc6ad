"""Parts of the README that are made from the code.

`python -m tests.documentation` writes them, `--check` says whether they are up to date.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Final

from tests.replay import equal_gpus
from tokengap.adapters import ADAPTERS
from tokengap.cli import COMMANDS
from tokengap.library import read_catalogue

README: Final = Path(__file__).parents[1] / "README.md"
_BLOCK: Final = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def commands() -> str:
    return _table(("command", "does"), [(f"`{name}`", does) for name, does in COMMANDS.items()])


def formats() -> str:
    head = (
        "`--format`",
        "reads",
        "vantage",
        "delivery",
        "clock",
        "TTFT",
        "worst gap",
        "handoff",
        "checked against",
    )
    return _table(head, [(f"`{a.name}`", *astuple(a.about)) for a in ADAPTERS])


def queries() -> str:
    catalogue = read_catalogue()
    return _table(
        ("query", "holds"), [(f"`{name}`", catalogue[name].summary) for name in catalogue.public]
    )


def four_gpus() -> str:
    return _table(equal_gpus.HEAD, equal_gpus.rows())


BLOCKS: Final[dict[str, Callable[[], str]]] = {
    "commands": commands,
    "formats": formats,
    "queries": queries,
    "equal_gpus": four_gpus,
}


def generated(readme: str) -> str:
    """The README with every generated block as the code has it now."""
    return _BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}{block[3]}", readme)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    readme = README.read_text("utf-8")
    wanted = generated(readme)
    if "--check" in sys.argv:
        if wanted != readme:
            sys.stderr.write("README.md is out of date: run `python -m tests.documentation`\n")
        return int(wanted != readme)
    README.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
