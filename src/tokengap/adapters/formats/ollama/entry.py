"""Lines of an answer as columns: when each came, what it carries, and what the last one tells."""

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.shared.columns import Columns, unless
from tokengap.adapters.shared.lines import LineError, optional_time_ns
from tokengap.adapters.shared.openai import Count, Part

DURATIONS: Final = ("prompt_eval_duration", "total_duration", "eval_duration", "load_duration")
NO_ANSWER: Final = ("load", "unload")


class Message(msgspec.Struct, gc=False):
    """New text of a chat answer."""

    content: Any = None
    thinking: Any = None
    tool_calls: Any = None


class Entry(msgspec.Struct, gc=False):
    """One line; durations in ns."""

    model: str | None = None
    created_at: str | None = None
    done: bool = False
    done_reason: str | None = None
    response: Any = None
    thinking: Any = None
    message: Message | None = None
    error: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_count: Count | None = None
    prompt_eval_duration: Any = None
    eval_count: Count | None = None
    eval_duration: Any = None


def line_columns(entries: Columns, is_error: Bools) -> dict[str, pa.Array]:
    """What is kept of every line; refuses those that are of no answer, or lack their time."""
    no_answer = pc.is_in(entries["done_reason"], pa.array(NO_ANSWER))
    entries.refuse(
        pc.and_(no_answer, pa.array(~is_error)),
        "a model was loaded or unloaded, and nothing answered",
        "done_reason",
    )
    entries.refuse(
        pc.and_(pc.is_null(entries["created_at"]), pa.array(~is_error)),
        "created_at: missing",
        "created_at",
    )
    created_at = unless(pa.array(is_error), entries["created_at"])
    return {
        "number": pa.array(entries.numbers),
        "t_ns": entries.wall_ns(created_at, "created_at"),
        "part": pa.array(_parts(entries)),
        "is_end": entries["done"],
    }


def end_columns(entries: Columns) -> dict[str, pa.Array]:
    """What the last lines of answers tell; refuses those whose durations are none.

    sound: which were not refused.
    """
    ends = np.flatnonzero(entries["done"].to_numpy(zero_copy_only=False) & entries.sieve.good)
    return {
        "done_reason": entries["done_reason"],
        "prompt_eval_count": entries["prompt_eval_count"],
        "eval_count": entries["eval_count"],
        **{name: _durations_ns(entries, name, ends.tolist()) for name in DURATIONS},
        "sound": pa.array(entries.sieve.good),
    }


def _durations_ns(entries: Columns, name: str, rows: list[int]) -> pa.Array:
    values = entries.others(name)
    found, there = np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    for row in rows:
        try:
            lasted_ns = optional_time_ns(values[row], name)
        except LineError as error:
            entries.sieve.refuse_one(row, error)
        else:
            found[row], there[row] = lasted_ns or 0, lasted_ns is not None
    return pa.array(found, mask=~there)


def _parts(entries: Columns) -> Ints:
    """What text each line carries, as a `Part`."""
    message = entries.part("message")
    answers, thoughts = _any(entries, "response"), _any(entries, "thinking")
    tools = np.zeros(len(entries), bool)
    if pc.any(message.there).as_py():
        answers |= _any(message, "content")
        thoughts |= _any(message, "thinking")
        tools = _any(message, "tool_calls")
    kinds = [answers, thoughts, tools]
    return np.select(kinds, [Part.ANSWER, Part.REASONING, Part.TOOL], Part.EMPTY).astype(np.int8)


def _any(part: Columns, name: str) -> Bools:
    """Where a field holds something that is not empty."""
    values = part.others(name)
    return np.fromiter(map(bool, values), bool, len(values))
