"""Writers of one store, killed at random moments: is anything lost, doubled or half there?

    python -m tests.bench.kills [--kills 100] [--seed 1]

Two processes load overlapping logs anew and merge the files, over and over; one of them is killed
with SIGKILL and started again, while a reader checks every snapshot. The exit code says whether all
of them, and the store at last, were right.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from tests.store.kills import slaughter


def main() -> int:
    """Run it; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        found = slaughter(Path(folder), asked.kills, asked.seed)
    console.print(
        f"{found.kills} writers killed, {found.versions} versions, "
        f"{found.snapshots} snapshots read, {found.left_behind} files left behind"
    )
    for wrong in found.wrong:
        console.print(f"WRONG: {wrong}", style="red")
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
