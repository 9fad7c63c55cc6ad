"""Answers with `nvext.timing`: whole bodies, chunks of streams, or the `nvext` object alone.

The frontend adds it to the last chunk, where the client asked for it in `nvext.extra_fields`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.formats.dynamo_trace.timing import Timing, Workers, times_of, workers_of
from tokengap.adapters.shared.columns import Columns, unless_empty
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.openai import Usage
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.stamps import SENTINEL_DROPPED
from tokengap.adapters.shared.unfinished import Unfinished

UNFINISHED: Final = "no chunk with `nvext.timing`: the answer was cut, or did not ask for it"


class Extension(msgspec.Struct, gc=False):
    """`nvext`."""

    timing: Timing | None = None
    worker_id: Workers | None = None


class Choice(msgspec.Struct, gc=False):
    """Only how it ended."""

    finish_reason: str | None = None


class Answer(Extension, gc=False):
    """A body, a chunk, or `nvext` alone."""

    id: str | None = None
    object: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    nvext: Extension | None = None


def extended(answer: Answer) -> Answer:
    """Return the answer with what its extension tells in its own place."""
    if answer.nvext is not None:
        answer.timing, answer.worker_id = answer.nvext.timing, answer.nvext.worker_id
        answer.nvext = None
    return answer


def rows(answers: Columns, clock: str, names: Names, unfinished: Unfinished) -> Rows:
    """Return the rows of answers with timing; of chunks before the last, there are none."""
    _leave_out(answers, unfinished)
    times = times_of(answers.part("timing", ""), clock)
    workers, unset = workers_of(answers.part("worker_id"))
    usage = answers.part("usage")
    reasons = pa.array(map(_finish_reason, answers.others("choices")), pa.string())
    facts = {
        "request_id": answers.named(names, answers["id"]),
        "status": "completed",
        "vantage": "gateway",
        "model": answers["model"],
        "finish_reason": reasons,
        "prompt_tokens": usage["prompt_tokens"],
        "cached_prompt_tokens": usage.part("prompt_tokens_details")["cached_tokens"],
        "output_tokens": usage["completion_tokens"],
        **times.facts,
        **workers,
    }
    return Rows(
        answers.numbers,
        answers.sieve,
        facts,
        ids={"sse_id": unless_empty(answers["id"])},
        stages=times.stages,
        reported=times.reported,
        notes={"end_not_seen": pc.is_null(reasons), SENTINEL_DROPPED: pc.or_(times.unset, unset)},
    )


def _leave_out(answers: Columns, unfinished: Unfinished) -> None:
    """Make rows only of answers with timing; of the others, some will have it in a later part."""
    ends = answers.part("timing").there
    if pc.all(ends).as_py() and unfinished.is_empty:
        return
    is_chunk = pc.fill_null(pc.ends_with(answers["object"], ".chunk"), fill_value=False)
    parts = pc.and_not(pc.and_(is_chunk, pc.is_valid(answers["id"])), ends)
    unfinished.note(answers["id"], parts, ends, answers.place)
    answers.pass_over(parts)
    answers.refuse(pc.invert(ends), "nvext.timing: missing", "nvext.timing")


def _finish_reason(choices: Sequence[Choice] | None) -> str | None:
    reasons = (choice.finish_reason for choice in choices or ())
    return next((reason for reason in reasons if reason), None)
