"""Numbers of a baseline in words, for text, page and tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tokengap.baseline import Estimate, Misses
from tokengap.baseline.lines import Coefficient
from tokengap.baseline.service import BEYOND, PREFILL_TERMS, STEP_TERMS
from tokengap.findings.audit import Row
from tokengap.findings.baseline import Baseline
from tokengap.report.words import NAMES
from tokengap.units import format_count, format_duration, format_share

DOSE_COLUMNS: Final = ("prompt tokens beside", "gaps", "mean gap", "95 % interval", "beyond pace")
MISS_COLUMNS: Final = ("limit", "missed", "separation", "chunks", "neither")
SERVICE_COLUMNS: Final = ("of", "term", "value", "95 % interval", "not identified")
LENGTH_COLUMNS: Final = ("tokens", "n", "mean", "p50", "p90", "p99", "max")
WINDOW_COLUMNS: Final = ("window", "n", "mean", "peak", "peak/mean", "dispersion")
CONCURRENCY_COLUMNS: Final = ("requests", "mean", "p50", "p90", "p99", "most")
_LEVELS: Final = (0.5, 0.9, 0.99, 1.0)


def scope(found: Baseline) -> str:
    """Vantage, origins, and how times and workers of prefills are known."""
    judged = next((row for row in found.vantages if row["judged"]), None)
    seen = "no vantage" if judged is None else judged["vantage"]
    origins = " or ".join(judged["origins"]) if judged else ""
    known = ", ".join(f"{format_count(row['n'])} {row['basis']}" for row in found.bases)
    unnamed = sum(row["on_unnamed_workers"] for row in found.bases)
    workers = " · no worker is named: those of a deployment count as one" if unnamed else ""
    return f"{seen}, times from {origins or 'nowhere'} · prefills: {known or 'none known'}{workers}"


def between(found: Estimate, show: Callable[[float], str] = format_duration) -> str:
    """The 95 % interval of an estimate."""
    if found.low is None or found.high is None:
        return "-"
    return f"{show(found.low)} to {show(found.high)}"


def shown(value: float | None, show: Callable[[float], str] = format_duration) -> str:
    """A value, or a dash for none."""
    return "-" if value is None else show(value)


def dose_name(step: int) -> str:
    """The tokens that a step of doses goes from and to."""
    if step == 0:
        return "none"
    return f"{format_count(2 ** (step - 1))} to {format_count(2**step)}"


def dose_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """Each dose: gaps, their mean with its interval, and what that is beyond their own pace."""
    for dose in found.doses:
        yield (
            dose_name(dose.dose_step),
            format_count(dose.gaps),
            shown(dose.gap_ns.value),
            between(dose.gap_ns),
            shown(dose.beyond_ns.value),
        )


def miss_name(misses: Misses) -> str:
    """The limit that is missed."""
    if misses.statistic == "any":
        return "any limit"
    if misses.limit_ns is None:
        return "stalls"
    return f"{NAMES[misses.statistic]} ≤ {format_duration(misses.limit_ns)}"


def all_misses(found: Baseline) -> list[Misses]:
    """Those of each limit, and those of any where there are several."""
    several = len(found.misses) != 1
    return [*found.misses, *([found.any] if several and found.any.missed else [])]


def miss_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """Each limit: requests that miss it, and which of them could be helped."""
    for misses in all_misses(found):
        helped = (
            f"{format_count(count)} ({format_share(count / misses.missed)})"
            for count in (misses.apart, misses.chunked, misses.neither)
        )
        yield (miss_name(misses), format_count(misses.missed), *helped)


def service_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """Each coefficient of the service model."""
    service = found.service
    for part, terms, line in (
        ("prefill", PREFILL_TERMS, service.prefill_line),
        ("decode step", STEP_TERMS, service.decode_line),
    ):
        for term, coefficient in zip(terms, line.coefficients, strict=True):
            yield (part, term, *_coefficient(coefficient))


def service_notes(found: Baseline) -> Iterator[str]:
    """What the service model rests on, and where it ends."""
    service = found.service
    for part, line in (("Prefills", service.prefill_line), ("Decode steps", service.decode_line)):
        if line.error_share is None:
            yield f"{part}: not fitted; {line.coefficients[0].unidentified}."
        else:
            yield (
                f"{part}: {format_count(line.rows)} samples, half of them within "
                f"{format_share(line.error_share)} of the line."
            )
    low, high, tail = (service.jitter.quantile(share) for share in (0.1, 0.9, 0.99))
    if low is not None:
        yield (
            f"Single steps, as delivered: 80 % take {low:.2f} to {high:.2f} times their stream's "
            f"mean, 1 % over {tail:.2f} times."
        )
    seen = service.seen
    if seen.running[1]:
        yield (
            f"Seen: {_range(seen.prompt_tokens)} prompt tokens in one step, {_range(seen.running)} "
            f"requests at once, {_range(seen.held_tokens)} tokens held. A prediction over "
            f"{BEYOND:g} times that is extrapolated."
        )


def _range(ends: tuple[float, float]) -> str:
    return " to ".join(format_count(round(end)) for end in ends)


def _coefficient(found: Coefficient) -> tuple[str, str, str]:
    value = shown(found.estimate.value, small_duration)
    return value, between(found.estimate, small_duration), found.unidentified or ""


def small_duration(ns: float) -> str:
    """A duration that may be far below a nanosecond."""
    return f"{ns * 1000:.3g} ps" if 0 < ns < 1 else format_duration(ns)


def length_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """Prompts and answers."""
    for row in found.lengths:
        values = (row[f"{name}_tokens"] for name in ("mean", "p50", "p90", "p99", "max"))
        told = (shown(value, lambda tokens: format_count(round(tokens))) for value in values)
        yield (row["side"], format_count(row["n"]), *told)


def window_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """Arrivals through windows of each length."""
    for row in found.bursts:
        numbers = (f"{row[name]:.2f}" for name in ("peak_to_mean", "dispersion"))
        yield (
            format_duration(row["window_ns"]),
            format_count(row["windows"]),
            f"{row['mean']:.2f}",
            format_count(row["peak"]),
            *numbers,
        )


def concurrency_rows(found: Baseline) -> Iterator[tuple[str, ...]]:
    """How many requests were there at once, by share of the time that any was."""
    for name, column in (("in the system", "in_system_ns"), ("being decoded", "running_ns")):
        busy = [row for row in found.concurrency if row["requests"] > 0 and row[column] > 0]
        if busy:
            yield (name, f"{_mean(busy, column):.2f}", *map(format_count, _levels(busy, column)))


def _mean(busy: Sequence[Row], column: str) -> float:
    total = sum(row[column] for row in busy)
    return float(sum(row["requests"] * row[column] for row in busy) / total)


def _levels(busy: Sequence[Row], column: str) -> Iterator[int]:
    total = sum(row[column] for row in busy)
    for level in _LEVELS:
        spent = 0
        for row in busy:
            spent += row[column]
            if spent >= level * total:
                yield row["requests"]
                break


def arrival_sentence(found: Baseline) -> str:
    """Rate and burstiness."""
    row = found.arrivals
    if row["mean_ns"] is None or not row["mean_ns"]:
        return f"{format_count(row['requests'])} arrivals are known, too few to tell a rate."
    rate = f"{1e9 / row['mean_ns']:.3g} requests/s"
    if row["cv"] is None:
        return f"{rate}; too few arrivals to tell bursts."
    shape = shown(row["gamma_shape"], lambda value: f"{value:.2f}")
    return (
        f"{rate}; times between arrivals vary by {row['cv']:.2f} of their mean (cv; 1 if arrivals "
        f"are independent), as a gamma distribution of shape {shape} does."
    )


def dependence_sentence(found: Baseline) -> str:
    """How far long prompts go with long answers."""
    row = found.dependence
    if row["rank_correlation"] is None:
        return "Prompts or answers are all of one length: neither tells anything of the other."
    return (
        f"Rank correlation of prompt and answer {row['rank_correlation']:+.2f} over "
        f"{format_count(row['requests'])} requests: 0 if one tells nothing of the other."
    )
