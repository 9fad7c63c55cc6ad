"""Bodies and chunks as columns: how far the answer is, and its totals so far."""

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.shared.columns import Columns, unless_empty
from tokengap.adapters.shared.openai import Count

TIMES = ("predicted_ms", "prompt_ms", "predicted_per_token_ms")


class Timings(msgspec.Struct, gc=False):
    """Totals of an answer so far; ms. Older servers leave one out."""

    cache_n: Count | None = None
    prompt_n: Count | None = None
    prompt_ms: float | None = None
    predicted_n: Count | None = None
    predicted_ms: float | None = None
    predicted_per_token_ms: float | None = None


class Choice(msgspec.Struct, gc=False):
    """Only how far it is."""

    index: Count = 0
    finish_reason: str | None = None


class Usage(msgspec.Struct, gc=False):
    """Token counts of an answer in OpenAI's form."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None


class Chunk(msgspec.Struct, gc=False):
    """One body, or one chunk. Native ones have no id, and `stop` at their end."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] = []
    usage: Usage | None = None
    timings: Timings | None = None
    stop: bool | None = None
    stop_type: str | None = None


def chunk_columns(chunks: Columns) -> dict[str, pa.Array]:
    """What each chunk says; refuses those whose times are none.

    ends: the answer is over; in a stream, what may follow is a chunk without choices. stops: no
    chunk follows. timed: it has totals. unset: one of their times is null or NaN.
    """
    choices = [each[0] if each else None for each in chunks.others("choices")]
    reasons = pa.array([each and each.finish_reason for each in choices], pa.string())
    native = pc.coalesce(unless_empty(chunks["stop_type"]), pa.scalar("stop"))
    stops = pc.fill_null(chunks["stop"], False)
    reasons = pc.if_else(stops, native, reasons)
    usage, timings = chunks.part("usage"), chunks.part("timings")
    none = pa.array([each is None for each in choices], pa.bool_())
    is_usage = pc.and_(pc.and_(pc.is_valid(chunks["id"]), none), timings.there)
    lasted_ns, prompt_ns, mean_ns = map(timings.ms_ns, TIMES)
    chunks.after_ns(prompt_ns, lasted_ns, "timings.predicted_ms")
    unset = pc.or_(pc.is_null(lasted_ns), pc.is_null(prompt_ns))
    return {
        "number": pa.array(chunks.numbers),
        "id": chunks["id"],
        "choice": pa.array([each.index if each else 0 for each in choices], pa.int32()),
        "model": unless_empty(chunks["model"]),
        "finish_reason": unless_empty(reasons),
        "ends": pc.or_(is_usage, pc.is_valid(reasons)),
        "stops": stops,
        "counted": usage.there,
        "prompt_tokens": usage["prompt_tokens"],
        "completion_tokens": usage["completion_tokens"],
        "timed": timings.there,
        "unset": unset,
        "cache_n": timings["cache_n"],
        "prompt_n": timings["prompt_n"],
        "predicted_n": timings["predicted_n"],
        "prompt_ns": prompt_ns,
        "lasted_ns": lasted_ns,
        "mean_ns": mean_ns,
    }
