"""Records of all kinds in one file."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapters.formats.trtllm_perf_metrics.given import (
    CTX,
    GEN,
    Record,
    part,
    reading,
    rows,
    split,
)
from tests.adapters.reading import Row
from tokengap.adapters.shared import column_reader

KINDS: Final[list[Record]] = [
    split(),
    split(status=None, disagg_ctx_dispatch_time=1.006),
    split(part(CTX, request_id="x"), part(GEN)),
    split(gen=part(GEN | {"server_arrival_time": 1.103})),  # before the first worker's answer
    split(gen=part(GEN, *[{"token_time": t} for t in (1.2, 1.215)])),
    split(gen=part(GEN, {"token_time": 0.0})),
    split() | {"ctx_perf_metrics": None},
    split(part(CTX, ctx_request_id=1), part(GEN, ctx_request_id=1)),
    split() | {"ctx_perf_metrics": None, "gen_perf_metrics": part(GEN, ctx_request_id=1)},
    split() | {"gen_perf_metrics": {"request_id": 5}, "ctx_server": None},
    {"disagg_server_arrival_time": 1.0},
    part(CTX, request_id=3, status="error"),
    part(CTX, ctx_request_id=7),
    part(GEN, disagg_request_id="seven"),
    part(CTX | {"last_token_time": 1.2}, {"iter": 1, "token_time": 1.2}, ctx_request_id=7),
    part(CTX, {"iter": 1, "token_time": 1.1}, {"iter": 3, "token_time": 1.2}),
    {**split(), **part(CTX, request_id=8)},  # a worker's own record, with others' in it
    {**split(), "ctx_request_id": "1", "gen_perf_metrics": None},
]


@pytest.mark.parametrize("batch_bytes", [1, 10_000, 1 << 20])
def test_records_together_give_the_rows_that_each_gives_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr(column_reader, "BATCH_BYTES", batch_bytes)
    many = [later(record, 10 * at) for at, record in enumerate(KINDS * 3)]
    together = reading(tmp_path, *many)
    found = sorted((int(row["source"].rpartition(":")[2]), told(row)) for row in together.rows)
    alone = [(at, row) for at, record in enumerate(many) for row in rows(tmp_path, record)]
    assert found == sorted((at, told(row)) for at, row in alone)
    assert together.intake.rejects == []


def later(value: Any, by_s: float) -> Any:
    """The record of a later request: with other stamps, which are the floats in it."""
    if isinstance(value, dict):
        return {name: later(part, by_s) for name, part in value.items()}
    if isinstance(value, list):
        return [later(part, by_s) for part in value]
    return value + by_s if isinstance(value, float) and value else value


def told(row: Row) -> str:
    """The row, without what tells files and the names in them apart."""
    clock, _, _ = row["source"].rpartition(":")
    naming = ("request_id", "ids", "source")
    return str({k: v for k, v in row.items() if k not in naming}).replace(clock, "clock")
