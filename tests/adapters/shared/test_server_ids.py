import pyarrow as pa
import pytest

from tokengap.adapters.shared.sglang import DECODE, PREFILL, sglang_id_columns, sglang_ids
from tokengap.adapters.shared.vllm_ids import engine_id_columns, engine_ids

ENGINE_IDS: list[tuple[str | None, dict[str, str]]] = [
    ("cmpl-r-7-0", {"sse_id": "cmpl-r-7", "x_request_id": "r-7"}),
    ("cmpl-\n-7-0", {"sse_id": "cmpl-\n-7", "x_request_id": "\n-7"}),
    ("chatcmpl-r-7", {"sse_id": "chatcmpl-r-7", "x_request_id": "r-7"}),
    ("bench-0", {}),
    ("cmpl-", {}),
    ("cmpl--0", {}),
    ("cmpl-r", {}),
    ("chatcmpl", {}),
    ("chatcmpl-", {}),
    (None, {}),
]


def by_row(columns: dict[str, pa.Array]) -> list[dict[str, str]]:
    rows = zip(*(column.to_pylist() for column in columns.values()), strict=True)
    return [{n: v for n, v in zip(columns, row, strict=True) if v is not None} for row in rows]


@pytest.mark.parametrize(("request_id", "ids"), ENGINE_IDS)
def test_ids_that_vllm_made_of_a_clients(request_id: str | None, ids: dict[str, str]) -> None:
    assert engine_ids(request_id) == ids


def test_ids_of_sglang_requests_and_of_their_halves() -> None:
    assert sglang_ids("r", None) == {"rid": "r", "sse_id": "r"}
    assert sglang_ids("r", 5, PREFILL) == {"rid.prefill": "r", "bootstrap_room": "5"}
    assert sglang_ids("r", 5, DECODE) == {"rid.decode": "r", "sse_id": "r", "bootstrap_room": "5"}
    assert sglang_ids(None, None) == {}


def test_ids_of_many_requests_at_once() -> None:
    logged = pa.array([request_id for request_id, _ in ENGINE_IDS])
    assert by_row(engine_id_columns(logged)) == [ids for _, ids in ENGINE_IDS]
    chats = pa.array(["chatcmpl-a", None])
    assert by_row(engine_id_columns(chats)) == [engine_ids("chatcmpl-a"), {}]
    rids, rooms = pa.array(["r", "r", "r", None]), pa.array([None, 5, 5, None], pa.int64())
    halves = pa.array([None, PREFILL, DECODE, None])
    assert by_row(sglang_id_columns(rids, rooms, halves)) == [
        sglang_ids("r", None),
        sglang_ids("r", 5, PREFILL),
        sglang_ids("r", 5, DECODE),
        {},
    ]
