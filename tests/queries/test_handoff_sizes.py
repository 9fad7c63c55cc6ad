"""What a handoff hands over, and between whom; and how long responses are."""

from typing import Final

from tests.queries.given import MS, Library, deliveries, stream
from tests.queries.views import half, view
from tokengap.adapters.rows import stage

IDS: Final = {"x_request_id": "a"}


def test_size_and_workers_may_be_told_further_in(library: Library) -> None:
    """The client's gap is 17 ms; the decode worker's log has the transfer, its bytes and ends."""
    transfer = stage("kv_transfer", 64 * MS, 80 * MS, clock="c")
    outer = view("a", "client", IDS, clock="c", last_prefill_token=1, handoff_source="log")
    inner = half("d", "decode", IDS, clock="c", arrival_ns=63, stages=[transfer])
    inner |= {"kv_bytes": 2**20, "prefill_worker": "p0", "decode_worker": "d1"}
    library.bind(
        [
            outer | deliveries([100 * MS, 117 * MS]) | {"output_tokens": 2, "prompt_tokens": 9},
            inner | deliveries([115 * MS, 130 * MS]) | {"prompt_tokens": 8},
        ]
    )
    found = {row["boundary"]: row for row in library.rows("handoff_sizes")}
    assert {name: found[name]["handoff_ns"] for name in ("stream", "transfer")} == {
        "stream": 17 * MS,
        "transfer": 16 * MS,
    }
    for row in found.values():
        assert (row["request_id"], row["vantage"], row["status"]) == ("a", "client", "completed")
        assert (row["kv_bytes"], row["prompt_tokens"]) == (2**20, 9)
        assert (row["prefill_worker"], row["decode_worker"]) == ("p0", "d1")


def test_a_handoff_that_is_not_exact_stays_with_its_reason(library: Library) -> None:
    library.bind([stream("a", [0, 30 * MS], kv_bytes=5)])
    (row,) = [row for row in library.rows("handoff_sizes") if row["boundary"] == "stream"]
    assert (row["handoff_ns"], row["reason"]) == (None, "handoff_undeclared")
    assert row["kv_bytes"] == 5


def test_response_lengths_count_completed_responses(library: Library) -> None:
    library.bind(
        [
            stream("a", [0, 1 * MS]),
            stream("b", [0, 1 * MS]),
            stream("c", [0, 1 * MS, 2 * MS]),
            stream("d", [0, 1 * MS], output_tokens=None, token_count_source=None),
            stream("e", [0, 1 * MS], status="failed"),
        ]
    )
    found = [(row["output_tokens"], row["requests"]) for row in library.rows("response_lengths")]
    assert found == [(2, 2), (3, 1), (None, 1)]
