"""Rows of answers whose lines are side by side."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, count_source_code
from tokengap.adapters.formats.ollama.answers import Found
from tokengap.adapters.shared.columns import is_true, unless, unless_0
from tokengap.adapters.shared.gathered import Gathered
from tokengap.adapters.shared.nested import Reported, Stage, entry_lists
from tokengap.adapters.shared.openai import Part
from tokengap.adapters.shared.row_batches import Rows
from tokengap.adapters.shared.sieve import Sieve
from tokengap.adapters.shared.stamps import CLOCK_CONTRADICTION
from tokengap.schema import TIME_LIMIT_NS

TTFT_FORMULA: Final = (
    "from ollama: total_duration - (created_at of the last line - of the first), two clocks"
)
E2E_FORMULA: Final = "ollama: total_duration"
TPOT_FORMULA: Final = "ollama: eval_duration / eval_count"
LOAD_FORMULA: Final = "ollama: load_duration, the model's, before the prompt is read"


def rows(
    answers: Gathered, found: Found, ends: Mapping[str, pa.Array], clock: str, lost: Bools
) -> Rows:
    """One row per answer. ends: what its last line tells, NULL where that was not seen."""
    done = np.array([row is not None for row in found.rows], bool)
    total_ns, prefill_ns = ends["total_duration"], ends["prompt_eval_duration"]
    is_token = _are_tokens(answers, ends["eval_count"])
    has_text = answers["part"].to_numpy()[answers.firsts] > Part.EMPTY
    whole = done & (answers.sizes == 1) & has_text
    times_ns = answers["t_ns"]
    end_ns = times_ns.take(pa.array(answers.offsets[1:] - 1))
    first_ns = unless(pa.array(whole), times_ns.take(answers.first(is_token)))
    span_ns = pc.subtract(end_ns, first_ns)
    limit_ns = pc.coalesce(unless_0(total_ns), pa.scalar(TIME_LIMIT_NS))
    sieve = Sieve(len(answers))
    sieve.pass_over(is_true(pc.invert(ends["sound"])))
    return Rows(
        answers["number"].to_numpy()[answers.firsts],
        sieve,
        {
            "request_id": pc.cast(pa.array(found.ended), pa.string()),
            "status": pa.array(found.statuses),
            "error_kind": pc.if_else(
                pc.equal(pa.array(found.statuses), "failed"), "in_band_error", None
            ),
            "finish_reason": ends["done_reason"],
            "clock": clock,
            "clock_kind": "wall",
            "vantage": "gateway",
            "model": pa.array(found.models, pa.string()),
            "prompt_tokens": ends["prompt_eval_count"],
            "first_answer_ns": _first_answer_ns(answers),
            "stream_close_ns": unless(pa.array(~done), end_ns),
            "marks": _marks(answers, ~is_token),
        },
        stages=[Stage("prefill", lasted_ns=prefill_ns)],
        reported=_reported(ends, span_ns),
        notes={
            "events_lost": pa.array(lost),
            CLOCK_CONTRADICTION: pc.greater(
                pc.fill_null(span_ns, 0), limit_ns
            ),  # the clock was set meanwhile
        },
        delivered=_events(answers, is_token, ends["eval_count"], streamed=~whole),
    )


def _are_tokens(answers: Gathered, totals: pa.Array) -> Bools:
    """Tell which lines hold tokens: those with text, the empty ones where that makes the total."""
    total = pc.fill_null(totals, -1).to_numpy()
    has_text, is_end = answers["part"].to_numpy() > Part.EMPTY, answers.where("is_end")
    fits = answers.count(has_text) == total
    all_fit = ~fits & (answers.sizes == total)
    rest_fit = ~fits & ~all_fit & (answers.count(has_text | ~is_end) == total)
    all_lines, others = (np.repeat(where, answers.sizes) for where in (all_fit, rest_fit))
    are_tokens: Bools = has_text | all_lines | (others & ~is_end)
    return are_tokens


def _first_answer_ns(answers: Gathered) -> pa.Array:
    """When the first answer text came, where thinking came before it."""
    part = answers["part"].to_numpy()
    thought, answer = (answers.first(part == kind) for kind in (Part.REASONING, Part.ANSWER))
    return answers["t_ns"].take(pc.if_else(pc.less(thought, answer), answer, None))


def _marks(answers: Gathered, marked: Bools) -> pa.Array:
    """Lines that hold no token."""
    kept = pa.array(marked)
    kinds = pc.if_else(answers["is_end"].filter(kept), "finish", "empty")
    return entry_lists("marks", answers.count(marked), [kinds, answers["t_ns"].filter(kept)])


def _reported(ends: Mapping[str, pa.Array], span_ns: pa.Array) -> list[Reported]:
    """Ollama's own durations, and TTFT as what is left of them before the span of the stream."""
    total_ns, tokens = ends["total_duration"], unless_0(ends["eval_count"])
    left_ns = pc.subtract(total_ns, span_ns)
    fits = pc.and_(pc.greater_equal(span_ns, 0), pc.greater_equal(left_ns, 0))
    mean_ns = pc.divide(pc.cast(ends["eval_duration"], pa.float64()), tokens)
    return [
        Reported.of("e2e", E2E_FORMULA, total_ns),
        Reported.of("load", LOAD_FORMULA, ends["load_duration"]),
        Reported.of("ttft", TTFT_FORMULA, pc.if_else(fits, left_ns, None)),
        Reported.of("tpot", TPOT_FORMULA, pc.cast(pc.round(mean_ns), pa.int64())),
    ]


def _events(answers: Gathered, is_token: Bools, totals: pa.Array, *, streamed: Bools) -> Events:
    sizes, rows = answers.count(is_token), len(answers)
    times_ns = answers["t_ns"].filter(pa.array(is_token)).to_numpy()
    known = pc.is_valid(totals).to_numpy(zero_copy_only=False)
    return Events(
        offsets=np.concatenate(([0], np.cumsum(sizes))),
        times_ns=times_ns,
        counts=np.zeros(len(times_ns), np.int64),
        counts_source=np.full(rows, count_source_code("events")),
        totals=pc.fill_null(pc.cast(totals, pa.int64()), -1).to_numpy(),
        totals_source=np.where(known, count_source_code("usage"), -1),
        observed=np.ones(rows, bool),
        streamed=streamed,
    )
