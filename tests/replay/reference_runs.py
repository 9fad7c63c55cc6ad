"""Runs of DistServe's simulator, as `reference/README.md` describes them."""

import csv
import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np

from tokengap.replay import Workload, parity

FOLDER = Path(__file__).parent / "reference"
RUNS = [("split", "2.0"), ("split", "3.0"), *(("colocated", r) for r in ("1.33", "2.0", "3.0"))]


@cache
def azure(rate: str) -> Workload:
    """The 1,000 requests of a run; its answers hold one token more, that of the prefill."""
    text = gzip.decompress((FOLDER / f"simdistserve/workload_{rate}.json.gz").read_bytes())
    rows = json.loads(text)
    return Workload(
        parity.arrivals_ms([row["start_time"] for row in rows]),
        np.array([row["prompt_len"] for row in rows]),
        np.array([row["output_len"] for row in rows]),
    )


@cache
def published(kind: str, arm: str, rate: str) -> dict[str, np.ndarray]:
    """Columns of `latency` or `gaps`."""
    with gzip.open(FOLDER / f"simdistserve/{kind}_{arm}_{rate}.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def queue_rows() -> list[dict[str, float]]:
    with (FOLDER / "mdl_queue.csv").open() as lines:
        return [
            {name: float(value) for name, value in row.items() if name != "formula"}
            for row in csv.DictReader(lines)
        ]
