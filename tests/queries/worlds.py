"""Requests of a prefill and a decode worker as they happened, and what each side logged of them.

Every side stamps with a clock of its own. Nothing happens before its cause: what the logs say of
another side's time can be held against what that time was.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from hypothesis import strategies as st

from tests.queries.given import MS, Row, clock, stream
from tokengap.adapters.rows import stage

SIDES: Final = ("client", "gateway", "prefill", "decode")
REFERENCE: Final = "wall"

waits = st.one_of(st.integers(1, 2_000), st.integers(1, 20 * MS))
spreads = st.sampled_from([0, 0, 1_000, 5 * MS])


@dataclass(frozen=True)
class Request:
    """One request in true time; k: the prefill worker's token is sent on, or thrown away."""

    name: str
    k: int
    sent: int
    received: int
    asked: int
    arrived: int
    first: int
    answered: int
    relayed: int
    queued: int
    transfer: tuple[int, int]
    scheduled: int
    made: Sequence[int]
    """Tokens of the decode worker."""
    passed: Sequence[int]
    """All tokens of the answer at the gateway, and then at the client."""
    seen: Sequence[int]
    outcome: str
    ended: int
    """When the client's stream did."""

    @property
    def received_tokens(self) -> list[int]:
        """What the client saw, until it left or was cut off."""
        return [t for t in self.seen if t <= self.ended]

    @property
    def handoffs(self) -> dict[str, int]:
        """The true handoff by each boundary that there is."""
        found = {
            "engine": self.made[0] - self.first,
            "relay": self.queued - self.answered,
            "transfer": self.transfer[1] - self.transfer[0],
            "decode_wait": self.scheduled - self.queued,
            "gateway": self.passed[self.k] - self.answered,
        }
        if self.k:
            return found | {"stream": self.seen[1] - self.seen[0]}
        return found | {"ttft": self.seen[0] - self.answered}


@dataclass(frozen=True)
class World:
    """What happened, and by how much each clock is ahead of true time."""

    requests: Sequence[Request]
    ahead: dict[str, int]
    rows: list[Row]
    clocks: list[Row]


@st.composite
def requests(draw: st.DrawFn, name: str) -> Request:
    k = draw(st.integers(0, 1))
    steps = list(accumulate(draw(st.lists(waits, min_size=11, max_size=11))))
    (sent, received, asked, arrived, first, answered, relayed, queued, *rest) = steps
    begun, moved, scheduled = rest
    made = list(accumulate(draw(st.lists(waits, min_size=2, max_size=4)), initial=scheduled))[1:]
    passed = _after([*([answered] if k else []), *made], draw)
    seen = _after(passed, draw)
    # A view that begins when the client's stream had ended would not be taken for the same request.
    cuts = [t for t in seen[:-1] if t >= queued]
    outcome = draw(st.sampled_from(["completed", "cancelled", "cut" if cuts else "completed"]))
    ended = seen[-1] + draw(waits)
    if outcome == "cancelled":
        ended = draw(st.integers(queued, seen[-1]))
    if outcome == "cut":
        ended = draw(st.sampled_from(cuts))
    return Request(
        name, k, sent, received, asked, arrived, first, answered, relayed, queued, (begun, moved),
        scheduled, made, passed, seen, outcome, ended,
    )  # fmt: skip


def _after(times: Sequence[int], draw: st.DrawFn) -> list[int]:
    """When tokens come to the next side, in order."""
    return list(accumulate((t + draw(waits) for t in times), max))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    served = [draw(requests(name)) for name in "abc"[: draw(st.integers(1, 3))]]
    sides = [side for side in SIDES if side != "gateway" or draw(st.booleans())]
    ahead = {side: draw(st.integers(-(10**12), 10**12)) for side in SIDES} | {REFERENCE: 10**15}
    withheld = draw(st.sampled_from(["", "sent_ns"]))
    rows = [
        {name: value for name, value in LOGS[side](request, ahead[side]).items()
         if name != withheld}
        for request in served for side in sides
    ]  # fmt: skip
    return World(
        served, ahead, rows, [clock for side in SIDES for clock in draw(known(side, ahead))]
    )


@st.composite
def known(draw: st.DrawFn, side: str, ahead: dict[str, int]) -> list[Row]:
    """How a side's clock is related to another, if that is logged; the true offset lies within."""
    if draw(st.booleans()):
        return []
    spread_ns = draw(spreads)
    offset_ns = ahead[side] - ahead[REFERENCE] + draw(st.integers(-spread_ns, spread_ns))
    return [clock(side, REFERENCE, offset_ns, spread_ns)]


def client(request: Request, ahead: int) -> Row:
    times = request.received_tokens
    row = stream(
        request.name, [t + ahead for t in times], sent_ns=request.sent + ahead, clock="client",
        ids={"x_request_id": request.name}, stream_close_ns=request.ended + ahead,
    )  # fmt: skip
    if request.outcome == "cut":
        return row | {"quality": ["end_not_seen"], "stream_close_ns": None}
    return row | {"status": request.outcome}


def gateway(request: Request, ahead: int) -> Row:
    """It goes on until it notices that the client left."""
    marks = [("decode_first_token", request.passed[1] + ahead)] if request.k else []
    stages = [
        stage("prefill", request.asked + ahead, request.answered + ahead, clock="gateway"),
        stage("relay", request.answered + ahead, request.relayed + ahead, clock="gateway"),
    ]
    return stream(
        request.name, None, trace="proxy", vantage="gateway", clock="gateway",
        ids={"x_request_id": request.name}, sent_ns=None, received_ns=request.received + ahead,
        first_token_ns=request.passed[0] + ahead, last_token_ns=request.passed[-1] + ahead,
        stream_close_ns=request.passed[-1] + ahead, last_prefill_token=request.k,
        handoff_source="log", stages=stages, marks=[{"kind": m, "t_ns": t} for m, t in marks],
    )  # fmt: skip


def prefill(request: Request, ahead: int) -> Row:
    return half(
        request, "prefill", [request.first + ahead], request.arrived + ahead,
        ids={"x_request_id": request.name, "bootstrap_room": request.name},
    )  # fmt: skip


def decode(request: Request, ahead: int) -> Row:
    """It is called by an id that the client does not know."""
    begun, moved = request.transfer
    stages = [
        stage("decode_queue", request.queued + ahead, request.scheduled + ahead, clock="decode"),
        stage("kv_transfer", begun + ahead, moved + ahead, clock="decode"),
    ]
    return half(
        request, "decode", [t + ahead for t in request.made], request.queued + ahead,
        ids={"bootstrap_room": request.name}, stages=stages,
    )  # fmt: skip


def half(
    request: Request, side: str, times: Sequence[int], arrival_ns: int, **facts: object
) -> Row:
    """What one of two workers logs of its half."""
    return stream(
        f"{request.name}-{side}", times, trace="engines", vantage="engine", clock=side,
        sent_ns=None, arrival_ns=arrival_ns, handoff_source="log",
        last_prefill_token=int(side == "prefill"), **{f"{side}_worker": side}, **facts,
    )  # fmt: skip


LOGS: Final = {"client": client, "gateway": gateway, "prefill": prefill, "decode": decode}
