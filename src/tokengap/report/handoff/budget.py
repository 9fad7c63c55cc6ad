"""One handoff budget, `tokengap.handoff/1`. Fields are only added to its JSON."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final

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
from tokengap.report.document import Document
from tokengap.report.numbers import both, columns, number
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

    @property
    def colocated_gap_ns(self) -> Fraction | int | None:
        """Gap of one shared worker; None if it was not asked for."""
        if not self.colocated:
            return None
        return colocated_gap_ns(self.handoff.prefill_ns, self.handoff.step_ns)

    @property
    def assumed(self) -> list[str]:
        """What the numbers take for granted."""
        return assumptions(self.handoff) + ([COLOCATED_WARNING] if self.colocated else [])


def budget(report: BudgetReport) -> Document:
    """The budget as text and JSON."""
    return Document(_record(report), _text(report))


def _record(report: BudgetReport) -> dict[str, Any]:
    promises, inverse = report.promises, report.inverse
    answers = {name: getattr(inverse, name) for name in Inverse.__dataclass_fields__}
    return {
        "schema": SCHEMA,
        "terms": {name: number(value) for name, value in terms(report.handoff).items()},
        "output_tokens": report.output_tokens,
        "ttft_ns": number(promises["ttft"].value_ns),
        "first_gap_ns": number(report.first_gap_ns),
        "worst_gap_ns": number(promises["worst_gap"].value_ns),
        "tpot_ns": number(promises["tpot"].value_ns),
        "verdicts": {name: promise.verdict for name, promise in promises.items()},
        "headroom_ns": {name: number(each.headroom_ns) for name, each in promises.items()},
        "inverse": {name: number(answer.value) for name, answer in answers.items()}
        | {"max_prompt_tokens": report.max_prompt_tokens},
        "inverse_reasons": {name: answer.reason for name, answer in answers.items()}
        | {"max_prompt_tokens": report.prompt_reason},
        "colocated_gap_ns": number(report.colocated_gap_ns),
        "assumptions": report.assumed,
    }


def _text(report: BudgetReport) -> str:
    """Terms, what the user sees, what still passes, and what is assumed."""
    parts = [
        "Terms\n" + columns(term_rows(report.handoff)),
        f"A response of {format_count(report.output_tokens)} tokens\n" + columns(seen_rows(report)),
        "What still passes\n" + columns(passing_rows(report)),
        "Assumed\n" + "".join(f"- {line}\n" for line in report.assumed),
    ]
    return "\n".join(parts)


def terms(handoff: Handoff) -> dict[str, Fraction | int]:
    """Every term by its name in JSON."""
    return {
        "prefill_ns": handoff.prefill_ns,
        "bytes": handoff.cache_bytes,
        "transfer_ns": handoff.transfer_ns,
        "overhead_ns": handoff.overhead_ns,
        "overlap_ns": handoff.overlap_ns,
        "step_ns": handoff.step_ns,
    }


def term_rows(handoff: Handoff) -> list[tuple[str, ...]]:
    """Name and value of each term."""
    found = terms(handoff)
    names = ("prefill", "transfer", "overhead", "overlap", "step")
    times = [(name, format_ms(found[f"{name}_ns"])) for name in names]
    return [("cache", both(Fraction(handoff.cache_bytes))), *times]


def seen_rows(report: BudgetReport) -> list[tuple[str, ...]]:
    """What a user sees: name, value, limit, verdict, headroom."""
    rows = [_judged(promise) for promise in report.promises.values()]
    first = "-" if report.first_gap_ns is None else format_ms(report.first_gap_ns)
    rows.insert(1, ("first gap", first, "", "", ""))
    if (shared := report.colocated_gap_ns) is not None:
        rows.append(("one shared worker", format_ms(shared), "", "", ""))
    return rows


def _judged(promise: Promise) -> tuple[str, ...]:
    value = "-" if promise.value_ns is None else format_ms(promise.value_ns)
    if promise.limit_ns is None or promise.verdict is None:
        return (_NAMES[promise.name], value, "", "", "")
    spare = promise.headroom_ns
    left = "" if spare is None else f"{format_ms(abs(spare))} {'over' if spare < 0 else 'left'}"
    verdict = promise.verdict.replace("_", " ")
    return (_NAMES[promise.name], value, f"limit {format_ms(promise.limit_ns)}", verdict, left)


def passing_rows(report: BudgetReport) -> list[tuple[str, ...]]:
    """What still passes: name and value, or the reason why there is none."""
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
