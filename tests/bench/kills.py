"""Writers of one store, killed at random moments: is anything lost, doubled or half there?

    python -m tests.bench.kills [--kills 100] [--seed 1] [--s3]

Two processes load overlapping logs anew and merge the files, over and over; one of them is killed
with SIGKILL and started again, while a reader checks every snapshot. With --s3 the store is in a
bucket of an S3-compatible server on this machine. The exit code says whether all snapshots, and the
store at last, were right.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from tests.store.bucket import BUCKET, served
from tests.store.kills import slaughter


def main() -> int:
    """Run it; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--s3", action="store_true")
    asked = parser.parse_args()
    console = Console()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if asked.s3:
            os.environ.update(stack.enter_context(served()))
        place = f"s3://{BUCKET}/store" if asked.s3 else f"{folder}/store"
        found = slaughter(Path(folder), place, asked.kills, asked.seed)
    console.print(
        f"{found.kills} writers killed, {found.versions} versions, {found.snapshots} snapshots "
        f"read, {found.left_behind} files left behind, {time.monotonic() - started:.0f} s"
    )
    for wrong in found.wrong:
        console.print(f"WRONG: {wrong}", style="red")
    return int(bool(found.wrong))


if __name__ == "__main__":
    sys.exit(main())
