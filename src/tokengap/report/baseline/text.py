"""A baseline as text for a terminal."""

from collections.abc import Iterable, Iterator, Sequence

from tokengap.findings.baseline import Baseline
from tokengap.report.baseline.words import (
    CONCURRENCY_COLUMNS,
    DOSE_COLUMNS,
    LENGTH_COLUMNS,
    MISS_COLUMNS,
    SERVICE_COLUMNS,
    WINDOW_COLUMNS,
    arrival_sentence,
    concurrency_rows,
    dependence_sentence,
    dose_rows,
    length_rows,
    miss_rows,
    scope,
    service_notes,
    service_rows,
    window_rows,
)
from tokengap.report.numbers import columns
from tokengap.report.whole import TRACES_SHOWN
from tokengap.report.words import trace_names


def baseline_text(found: Baseline) -> str:
    """The verdict with its reasons, then the numbers."""
    head = [trace_names(found.traces, TRACES_SHOWN), scope(found), ""]
    verdict = [f"Verdict: {found.verdict.name}", *(f"  {why}" for why in found.verdict.why)]
    return "\n".join([*head, *verdict]) + "\n" + "".join(_parts(found))


def _parts(found: Baseline) -> Iterator[str]:
    chunk = f"What could help, at most (chunks of {found.chunk_tokens} tokens)"
    yield _table(chunk, MISS_COLUMNS, miss_rows(found))
    yield _table("Gaps by the prompt tokens computed beside them", DOSE_COLUMNS, dose_rows(found))
    yield _table("Cost of work, fitted", SERVICE_COLUMNS, service_rows(found), service_notes(found))
    yield _table("Lengths", LENGTH_COLUMNS, length_rows(found), [dependence_sentence(found)])
    yield _table("Arrivals", WINDOW_COLUMNS, window_rows(found), [arrival_sentence(found)])
    yield _table("Requests at once", CONCURRENCY_COLUMNS, concurrency_rows(found))


def _table(
    title: str, head: Sequence[str], rows: Iterable[tuple[str, ...]], notes: Iterable[str] = ()
) -> str:
    told = list(rows)
    if not told and not notes:
        return ""
    table = columns([tuple(head), *told]) if told else ""
    indented = "".join(f"  {line}\n" for line in [*table.splitlines(), *notes])
    return f"\n{title}\n{indented}"
