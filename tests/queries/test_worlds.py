"""Of requests as they happened, whatever the logs of each side let the library conclude is true."""

from hypothesis import given, settings

from tests.queries.given import Library, Row, clock
from tests.queries.worlds import REFERENCE, SIDES, Request, World, worlds


@given(worlds())
@settings(max_examples=60)
def test_what_is_concluded_is_true(library: Library, world: World) -> None:
    """One world answers all four questions: what they are answered from is the same."""
    library.bind(world.rows, clocks=world.clocks)
    assert_every_side_is_found(library, world)
    assert_true_distances_lie_within(library, world)
    assert_true_spans_lie_within(library, world)
    assert_true_handoffs_lie_within(library, world)


def assert_every_side_is_found(library: Library, world: World) -> None:
    found = [
        (row["outer_request_id"], row["vantage"], row["request_id"])
        for row in library.rows("same_request")
    ]
    gateway = _has_gateway(world)
    expected = [
        (request.name, *side)
        for request in world.requests
        for side in [
            ("engine", f"{request.name}-prefill"), ("engine", f"{request.name}-decode"),
            *([("gateway", request.name)] if gateway else []),
        ]
    ]  # fmt: skip
    assert sorted(found) == sorted(expected)


def assert_true_distances_lie_within(library: Library, world: World) -> None:
    """Of clocks from each other."""
    for bounds in library.rows("clock_bounds"):
        assert not bounds["contradictory"]
        apart_ns = world.ahead[bounds["inner_base"]] - world.ahead[bounds["outer_base"]]
        _assert_within(bounds, "", apart_ns)
    for pair in library.rows("_related_clocks"):
        _assert_within(pair, "", world.ahead[pair["other"]] - world.ahead[pair["clock"]])


def assert_true_spans_lie_within(library: Library, world: World) -> None:
    """From one side to another."""
    requests = {request.name: request for request in world.requests}
    for row in library.rows("vantage_differences"):
        request = requests[row["request_id"]]
        came_ns, first_ns = _true_times(request, row["inner_vantage"], row["part"])
        received_ns = request.seen[0]
        spans = {
            "way_in": came_ns - request.sent,
            "inside_to_user": received_ns - came_ns,
            "way_out": None if first_ns is None else received_ns - first_ns,
            "origin_to_inside": None if first_ns is None else first_ns - request.sent,
        }
        for name, span_ns in spans.items():
            _assert_within(row, f"{name}_", span_ns)
            low, high = row[f"{name}_low_ns"], row[f"{name}_high_ns"]
            if row["reason"] is None and low is not None:
                assert low == high


def assert_true_handoffs_lie_within(library: Library, world: World) -> None:
    requests = {request.name: request for request in world.requests}
    for row in library.rows("handoff_boundaries"):
        true_ns = requests[row["request_id"]].handoffs.get(row["boundary"])
        if row["boundary"] == "ttft" and not _has_gateway(world):
            continue  # without a gateway, from the prefill worker's token: another span
        _assert_within(row, "handoff_", true_ns)
        assert row["handoff_ns"] in (None, true_ns)


@given(worlds())
@settings(max_examples=20)
def test_with_exact_clocks_every_handoff_is_exact(library: Library, world: World) -> None:
    ahead = {side: world.ahead[side] - world.ahead[REFERENCE] for side in SIDES}
    known = [clock(side, REFERENCE, offset_ns) for side, offset_ns in ahead.items()]
    library.bind(world.rows, clocks=known)
    requests = {request.name: request for request in world.requests}
    inside = [row for row in library.rows("handoff_boundaries") if row["boundary"] in
              ("engine", "transfer", "decode_wait")]  # fmt: skip
    assert len(inside) == 3 * len(requests)
    for row in inside:
        known_none = requests[row["request_id"]].outcome != "completed"
        true_ns = requests[row["request_id"]].handoffs[row["boundary"]]
        assert row["handoff_ns"] == true_ns or (known_none and row["reason"] == "no_handoff")


def _has_gateway(world: World) -> bool:
    return any(row["vantage"] == "gateway" for row in world.rows)


def _true_times(request: Request, vantage: str, part: str) -> tuple[int, int | None]:
    """When the request came there, and when its first token was there that the user sees."""
    if vantage == "gateway":
        return request.received, request.passed[0]
    if part == "prefill":
        return request.arrived, request.first if request.k else None
    return request.queued, None if request.k else request.made[0]


def _assert_within(row: Row, name: str, true_ns: int | None) -> None:
    """Of what does not exist, nothing is proven."""
    low, high = row[f"{name}low_ns"], row[f"{name}high_ns"]
    assert low is None or (true_ns is not None and low <= true_ns)
    assert high is None or (true_ns is not None and true_ns <= high)
