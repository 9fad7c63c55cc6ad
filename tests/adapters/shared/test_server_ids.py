import pytest

from tokengap.adapters.shared.sglang import DECODE, PREFILL, sglang_ids
from tokengap.adapters.shared.vllm_ids import engine_ids


@pytest.mark.parametrize(
    ("request_id", "ids"),
    [
        ("cmpl-r-7-0", {"sse_id": "cmpl-r-7", "x_request_id": "r-7"}),
        ("chatcmpl-r-7", {"sse_id": "chatcmpl-r-7", "x_request_id": "r-7"}),
        ("bench-0", {}),
        ("cmpl-", {}),
        ("cmpl-r", {}),
        ("chatcmpl", {}),
        (None, {}),
    ],
)
def test_ids_that_vllm_made_of_a_clients(request_id: str | None, ids: dict[str, str]) -> None:
    assert engine_ids(request_id) == ids


def test_ids_of_sglang_requests_and_of_their_halves() -> None:
    assert sglang_ids("r", None) == {"rid": "r", "sse_id": "r"}
    assert sglang_ids("r", 5, PREFILL) == {"rid.prefill": "r", "bootstrap_room": "5"}
    assert sglang_ids("r", 5, DECODE) == {"rid.decode": "r", "sse_id": "r", "bootstrap_room": "5"}
    assert sglang_ids(None, None) == {}
