"""What SGLang's logs of one request have in common."""

import pyarrow as pa
import pyarrow.compute as pc

PREFILL = "prefill"
DECODE = "decode"


def sglang_ids(rid: str | None, room: int | None, half: str | None = None) -> dict[str, str]:
    """Return the ids by which a server's request is found in other logs.

    `rid` is also the id in the events of an answer that the server sends itself. `room`
    (`bootstrap_room`) is what the halves of a split request share. half: `PREFILL` or `DECODE`,
    whose `rid` stands for only a part of the request.
    """
    ids = {}
    if rid is not None:
        ids[f"rid.{half}" if half else "rid"] = rid
        if half != PREFILL:
            ids["sse_id"] = rid
    if room is not None:
        ids["bootstrap_room"] = str(room)
    return ids


def sglang_id_columns(rids: pa.Array, rooms: pa.Array, halves: pa.Array) -> dict[str, pa.Array]:
    """Do as `sglang_ids` for columns."""
    is_half = {half: pc.fill_null(pc.equal(halves, half), False) for half in (PREFILL, DECODE)}
    return {
        "rid": pc.if_else(pc.is_null(halves), rids, None),
        **{f"rid.{half}": pc.if_else(where, rids, None) for half, where in is_half.items()},
        "sse_id": pc.if_else(is_half[PREFILL], None, rids),
        "bootstrap_room": pc.cast(rooms, pa.string()),
    }
