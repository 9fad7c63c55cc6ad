"""Rows on days, and what is promised of them, for the relations that judge services."""

from typing import Any, Final

from tests.queries.given import Library, Row, stream
from tests.queries.oracle_promised import DAY_NS, HOUR_NS, Held, Members, tables
from tokengap.store.promised import bind_promises

STAMPS: Final = (
    "planned_ns", "sent_ns", "received_ns", "arrival_ns", "first_token_ns", "last_token_ns",
    "stream_close_ns", "first_answer_ns",
)  # fmt: skip
NOBODY: Final = (None, None, None, None)
VANTAGES: Final = ("client", "gateway", "engine")


def show(library: Library, rows: list[Row], members: Members, held: list[Held]) -> None:
    library.bind(rows)
    promise(library, members, held)


def promise(library: Library, members: Members, held: list[Held]) -> None:
    library.con.execute("SELECT 1").fetchall()  # `bind` leaves a result, which nothing may follow
    bind_promises(library.con, tables(members, held))


def judged(
    library: Library, rows: list[Row], *held: Held, members: Members | None = None
) -> dict[str, Row]:
    """Rows of `promised_requests` by request id."""
    show(library, rows, {NOBODY: 0} if members is None else members, list(held))
    found = library.rows("promised_requests")
    assert len({row["request_id"] for row in found}) == len(found)
    return {row["request_id"]: row for row in found}


def at(
    day: int, hour: int = 0, name: str = "a", times: tuple[int, ...] = (10, 30), **facts: Any
) -> Row:
    """A request on a wall clock; times are since it was sent."""
    sent_ns = day * DAY_NS + hour * HOUR_NS
    row = stream(name, [sent_ns + time for time in times], clock_kind="wall", **facts)
    return row | {"sent_ns": sent_ns}
