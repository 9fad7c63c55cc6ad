"""A handoff budget as text and as JSON: `tokengap.handoff/1`. Fields are only added to it."""

import json
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final

from tokengap import __version__
from tokengap.handoff import (
    COLOCATED_WARNING,
    Answer,
    Cache,
    Handoff,
    Inverse,
    Limits,
    Promise,
    assumptions,
    colocated_gap_ns,
    invert,
    judge,
)
from tokengap.report.cache_size import both, columns, number
from tokengap.units import format_bytes, format_count, format_ms

SCHEMA: Final = "tokengap.handoff/1"
_NAMES: Final = {"ttft": "TTFT", "worst_gap": "worst gap", "tpot": "average TPOT"}


@dataclass(frozen=True)
class BudgetReport:
    """A budget, and what it is judged by."""

    handoff: Handoff
    limits: Limits
    output_tokens: int
    cache: Cache | None = None
    """The model's, where the longest prompt is to be told."""
    block_tokens: int = 1
    colocated: bool = False

    @property
    def promises(self) -> dict[str, Promise]:
        """Every promise by name."""
        return judge(self.handoff, self.limits, self.output_tokens)

    @property
    def missed(self) -> bool:
        """Some limit is not kept."""
        return any(promise.verdict == "missed" for promise in self.promises.values())

    @property
    def inverse(self) -> Inverse:
        """What still passes."""
        return invert(self.handoff, self.limits, self.output_tokens)

    @property
    def first_gap_ns(self) -> Fraction | None:
        """None for a response of one token."""
        return self.handoff.first_gap_ns if self.output_tokens > 1 else None

    @property
    def max_prompt_tokens(self) -> int | None:
        """Longest prompt of the model whose cache still passes."""
        largest = self.inverse.max_cache_bytes.value
        if self.cache is None or largest is None:
            return None
        return self.cache.longest_prompt_tokens(largest, block_tokens=self.block_tokens)

    @property
    def prompt_reason(self) -> str | None:
        """Why a model has no longest prompt; None if it has one, or no model is given."""
        largest = self.inverse.max_cache_bytes
        if self.cache is None or self.max_prompt_tokens is not None:
            return None
        if largest.value is None:
            return largest.reason
        if self.cache.fixed_bytes > largest.value:
            return "the fixed state alone is larger"
        return "any length passes: all windows are full"


def budget_json(report: BudgetReport) -> str:
    """Strict JSON. A time that is no whole number of ns is a number with its fraction."""
    return json.dumps(_record(report), indent=1, allow_nan=False) + "\n"


def _record(report: BudgetReport) -> dict[str, Any]:
    promises, inverse = report.promises, report.inverse
    answers = {name: getattr(inverse, name) for name in Inverse.__dataclass_fields__}
    return {
        "schema": SCHEMA,
        "tokengap": __version__,
        "terms": {name: number(value) for name, value in _terms(report.handoff).items()},
        "output_tokens": report.output_tokens,
        "ttft_ns": number(promises["ttft"].value_ns),
        "first_gap_ns": number(report.first_gap_ns),
        "worst_gap_ns": number(promises["worst_gap"].value_ns),
        "tpot_ns": number(promises["tpot"].value_ns),
        "verdicts": {name: promise.verdict for name, promise in promises.items()},
        "headroom_ns": {name: number(promise.headroom_ns) for name, promise in promises.items()},
        "inverse": {name: number(answer.value) for name, answer in answers.items()}
        | {"max_prompt_tokens": report.max_prompt_tokens},
        "inverse_reasons": {name: answer.reason for name, answer in answers.items()}
        | {"max_prompt_tokens": report.prompt_reason},
        "colocated_gap_ns": number(_colocated_ns(report)) if report.colocated else None,
        "assumptions": _assumed(report),
    }


def _terms(handoff: Handoff) -> dict[str, Fraction | int]:
    return {
        "prefill_ns": handoff.prefill_ns,
        "bytes": handoff.cache_bytes,
        "transfer_ns": handoff.transfer_ns,
        "overhead_ns": handoff.overhead_ns,
        "overlap_ns": handoff.overlap_ns,
        "step_ns": handoff.step_ns,
    }


def _colocated_ns(report: BudgetReport) -> Fraction | int:
    return colocated_gap_ns(report.handoff.prefill_ns, report.handoff.step_ns)


def _assumed(report: BudgetReport) -> list[str]:
    return assumptions(report.handoff) + ([COLOCATED_WARNING] if report.colocated else [])


def budget_text(report: BudgetReport) -> str:
    """Terms, what the user sees, what still passes, and what is assumed."""
    parts = [
        "Terms\n" + columns(_term_rows(report.handoff)),
        f"A response of {format_count(report.output_tokens)} tokens\n" + columns(_seen(report)),
        "What still passes\n" + columns(_passing(report)),
        "Assumed\n" + "".join(f"- {line}\n" for line in _assumed(report)),
    ]
    return "\n".join(parts)


def _term_rows(handoff: Handoff) -> list[tuple[str, ...]]:
    terms = _terms(handoff)
    names = ("prefill", "transfer", "overhead", "overlap", "step")
    times = [(name, format_ms(terms[f"{name}_ns"])) for name in names]
    return [("cache", both(Fraction(handoff.cache_bytes))), *times]


def _seen(report: BudgetReport) -> list[tuple[str, ...]]:
    rows = [_judged(promise) for promise in report.promises.values()]
    first = "-" if report.first_gap_ns is None else format_ms(report.first_gap_ns)
    rows.insert(1, ("first gap", first, "", "", ""))
    if report.colocated:
        rows.append(("one shared worker", format_ms(_colocated_ns(report)), "", "", ""))
    return rows


def _judged(promise: Promise) -> tuple[str, ...]:
    value = "-" if promise.value_ns is None else format_ms(promise.value_ns)
    if promise.limit_ns is None or promise.verdict is None:
        return (_NAMES[promise.name], value, "", "", "")
    spare = promise.headroom_ns
    left = "" if spare is None else f"{format_ms(abs(spare))} {'over' if spare < 0 else 'left'}"
    verdict = promise.verdict.replace("_", " ")
    return (_NAMES[promise.name], value, f"limit {format_ms(promise.limit_ns)}", verdict, left)


def _passing(report: BudgetReport) -> list[tuple[str, ...]]:
    inverse, prompt = report.inverse, report.max_prompt_tokens
    rows: list[tuple[str, ...]] = [
        ("bandwidth at least", _shown(inverse.min_bandwidth_bytes_per_s, _rate)),
        ("cache at most", _shown(inverse.max_cache_bytes, both)),
        ("overhead at most", _shown(inverse.max_overhead_ns, format_ms)),
    ]
    if report.cache is not None:
        longest = (
            f"- ({report.prompt_reason})" if prompt is None else f"{format_count(prompt)} tokens"
        )
        rows.insert(2, ("prompt at most", longest))
    return rows


def _shown(answer: Answer, show: Any) -> str:
    return f"- ({answer.reason})" if answer.value is None else str(show(answer.value))


def _rate(bytes_per_s: Fraction) -> str:
    """Rounded up in whole bytes, so that what is shown passes."""
    whole = ceil(bytes_per_s)
    return f"{format_bytes(whole)}/s ({format_count(whole)} B/s)"
