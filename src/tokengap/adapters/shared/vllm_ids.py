"""Ids of vLLM's engine: the id that a client or a proxy gave, in what vLLM makes of it."""

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.nested import prefixed


def engine_ids(request_id: str | None) -> dict[str, str]:
    """Return the ids that other logs of the request know; empty for an id of another form.

    `chatcmpl-<id>` is also the id in the answer's events; `cmpl-<id>-<prompt>` is it with the
    prompt's index behind.
    """
    if request_id is None:
        return {}
    kind, _, rest = request_id.partition("-")
    if kind == "cmpl":
        rest = rest.rpartition("-")[0]
    if kind not in ("cmpl", "chatcmpl") or not rest:
        return {}
    return {"sse_id": f"{kind}-{rest}", "x_request_id": rest}


def engine_id_columns(request_ids: pa.Array) -> dict[str, pa.Array]:
    """Do as `engine_ids` for a column."""
    is_chat = pc.starts_with(request_ids, "chatcmpl-")
    sse_ids = pc.if_else(is_chat, request_ids, None)
    given = pc.binary_replace_slice(sse_ids, 0, len("chatcmpl-"), "")
    is_completion = pc.starts_with(request_ids, "cmpl-")
    if pc.any(is_completion).as_py():
        inner = pc.replace_substring_regex(request_ids, r"(?s)^cmpl-(?:(.*)-)?[^-]*$", r"\1")
        given = pc.if_else(is_completion, inner, given)
        sse_ids = pc.if_else(is_completion, prefixed("cmpl-", inner), sse_ids)
    is_one = pc.not_equal(given, "")
    return {
        "sse_id": pc.if_else(is_one, sse_ids, None),
        "x_request_id": pc.if_else(is_one, given, None),
    }
