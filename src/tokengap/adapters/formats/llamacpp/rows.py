"""Rows of answers whose chunks are side by side."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, count_source_code
from tokengap.adapters.shared.columns import unless
from tokengap.adapters.shared.gathered import Gathered
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.adapters.shared.nested import Reported, Stage, prefixed, reported_lists
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION, SENTINEL_DROPPED

TPOT_FORMULA = "llama.cpp: predicted_ms / predicted_n"


def rows(answers: Gathered, source_id: str, lost: Bools) -> Rows:
    """One row per answer that has timings; the last ones count. lost: where a chunk may be."""
    timed = answers.last(answers.where("timed"))
    unset = answers.where("timed") & answers.where("unset")
    counted = answers.last(answers.where("counted"))
    ids, numbers = (answers[name].take(pa.array(answers.firsts)) for name in ("id", "number"))
    places = pc.cast(numbers, pa.string())
    clocks = prefixed(f"{source_id}:", places)
    prompt_ns, mean_ns, cached, processed, made = (
        answers[name].take(timed)
        for name in ("prompt_ns", "mean_ns", "cache_n", "prompt_n", "predicted_n")
    )
    first_ns, last_ns = _ends(answers, prompt_ns)
    is_over = answers.count(answers.where("ends")) > 0
    named = pc.if_else(pc.equal(ids, ""), None, ids)
    sieve = Sieve(len(answers))
    sieve.pass_over(pc.is_null(timed).to_numpy(zero_copy_only=False))
    return Rows(
        numbers.to_numpy(),
        sieve,
        {
            "request_id": pc.coalesce(named, places),
            "choice": answers["choice"].take(pa.array(answers.firsts)),
            "status": pc.if_else(pa.array(is_over), "completed", "truncated"),
            "finish_reason": _last(answers, "finish_reason"),
            "clock": clocks,
            "clock_kind": "monotonic",
            "vantage": "engine",
            "model": _last(answers, "model"),
            "prompt_tokens": pc.coalesce(
                _summed(cached, processed), answers["prompt_tokens"].take(counted)
            ),
            "cached_prompt_tokens": cached,
            "first_token_ns": first_ns,
            "last_token_ns": last_ns,
            "reported": reported_lists([Reported.of("tpot", TPOT_FORMULA, mean_ns)], len(answers)),
        },
        ids={"sse_id": named},
        stages=[Stage("prefill", pc.multiply(prompt_ns, 0), prompt_ns, clock=clocks)],
        notes={
            "events_lost": pa.array(lost),
            SENTINEL_DROPPED: pa.array(answers.count(unset) > 0),
            CLOCK_CONTRADICTION: pc.less(last_ns, first_ns),
        },
        delivered=_events(
            answers, prompt_ns, pc.coalesce(made, answers["completion_tokens"].take(counted))
        ),
    )


def _last(answers: Gathered, name: str) -> pa.Array:
    """The last value of a column that is not NULL."""
    column = answers[name]
    return column.take(answers.last(pc.is_valid(column).to_numpy(zero_copy_only=False)))


def _summed(cached: pa.Array, processed: pa.Array) -> pa.Array:
    """Tokens of the prompt; NULL without either, and for none at all."""
    tokens = pc.add(pc.cast(cached, pa.int64()), pc.cast(processed, pa.int64()))
    unknown = pc.or_(pc.equal(tokens, 0), pc.greater(tokens, COUNT_LIMIT))
    return pc.cast(unless(unknown, tokens), pa.int32())


def _ends(answers: Gathered, prompt_ns: pa.Array) -> tuple[pa.Array, pa.Array]:
    """First and last token of answers that told their totals only once."""
    grew = answers.where("grew")
    once = pa.array(answers.count(grew) == 1)
    lasted_ns = answers["lasted_ns"].take(answers.last(grew))
    first_ns = pc.if_else(pc.and_(once, pc.is_valid(lasted_ns)), prompt_ns, None)
    return first_ns, pc.add(first_ns, lasted_ns)


def _events(answers: Gathered, prompt_ns: pa.Array, totals: pa.Array) -> Events:
    """What was told more than once, each time with the tokens that it added."""
    grew = answers.where("grew")
    told = answers.count(grew)
    observed = told > 1
    grew &= np.repeat(observed, answers.sizes)
    sizes = np.where(observed, told, 0)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    lasted_ns, made = (
        answers[name].filter(pa.array(grew)).to_numpy() for name in ("lasted_ns", "predicted_n")
    )
    counts = np.diff(made.astype(np.int64), prepend=0)
    counts[offsets[:-1][observed]] = made[offsets[:-1][observed]]
    usage = count_source_code("usage")
    known = pc.is_valid(totals).to_numpy(zero_copy_only=False)
    return Events(
        offsets=offsets,
        times_ns=lasted_ns + np.repeat(pc.fill_null(prompt_ns, 0).to_numpy(), sizes),
        counts=counts,
        counts_source=np.where(observed, usage, count_source_code("events")),
        totals=pc.fill_null(pc.cast(totals, pa.int64()), -1).to_numpy(),
        totals_source=np.where(known, usage, -1),
        observed=observed,
        streamed=np.ones(len(told), bool),
    )
