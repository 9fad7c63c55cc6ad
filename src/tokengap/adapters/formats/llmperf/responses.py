"""LLMPerf `*_individual_responses.json`: one JSON array, a record per request, sums and means only.

What LLMPerf calls inter-token latency is the time of the last token, first-token time included,
over a number of events that also counts events without text; `last_token` works back to that time
where it can. End-to-end ends when the connection does, after the last token. Tokens are recounted.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code
from tokengap.adapters.formats.llmperf.last_token import Means, totals_s
from tokengap.adapters.interface import About, Head, Intake, Sniff, wants
from tokengap.adapters.shared.bulk_records import BulkRecords
from tokengap.adapters.shared.cells import Cells
from tokengap.adapters.shared.column_reader import read_groups
from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.documents import document
from tokengap.adapters.shared.lone_requests import Run, batch
from tokengap.adapters.shared.nested import Reported, reported_lists
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.outcomes import status_of_http
from tokengap.adapters.shared.parallel_arrays import NOT_MEASURED, Floats, rounded_ns
from tokengap.adapters.shared.record_files import pieces_of
from tokengap.adapters.shared.seconds import NS_PER_S
from tokengap.adapters.source import Source
from tokengap.schema import TIME_LIMIT_NS

DURATIONS: Final = ("ttft_s", "inter_token_latency_s", "end_to_end_latency_s")
EVENTS_WITHOUT_TEXT: Final = 2
"""At most: the role and the end. A recount that is lower by more has merged tokens."""

_MOST_S: Final = TIME_LIMIT_NS / NS_PER_S
_EXPECTED: Final = "LLMPerf's array with one record per request (individual_responses.json)"
_MEAN: Final = "llmperf: time of the last token / events, those without text counted"
_E2E: Final = "llmperf: until the connection ended"


class Record(msgspec.Struct, gc=False):
    """One request; seconds. What was not measured is 0 or `NOT_MEASURED`."""

    ttft_s: float
    inter_token_latency_s: float
    end_to_end_latency_s: float
    number_input_tokens: Count
    number_output_tokens: Count
    error_code: int | str | None


class LlmPerf:
    """Reads LLMPerf's results per request."""

    name = "llmperf"
    version = 1
    about = About(
        reads="LLMPerf `*_individual_responses.json`",
        vantage="client",
        granularity="aggregate",
        clock="durations, s",
        ttft="yes",
        worst_gap="bounds",
        handoff="no",
        checked="LLMPerf @f1d6bed",
    )
    supersedes: tuple[str, ...] = ()
    joins_files = False

    def sniff(self, head: Head) -> Sniff:
        """Keys of a record."""
        return wants(head, "ttft_s", "inter_token_latency_s", "end_to_end_latency_s", "error_code")

    def read(self, sources: Sequence[Source], intake: Intake) -> Iterator[pa.RecordBatch]:
        """One row per request; InputError if the file is no JSON array."""
        for source in sources:
            raws = document(source, list[msgspec.Raw], _EXPECTED)
            pieces, records = pieces_of(enumerate(map(bytes, raws))), BulkRecords(Record, Record)
            run = Run(intake.source_id(source), intake.trace)
            # The step of the clock is that of all durations together.
            for found in read_groups(source, intake, pieces, records, whole=True):
                _check(found)
                yield _rows(found, run)


def _check(records: Columns) -> None:
    """Refuse records where a duration is none, or the end comes before the first token."""
    for field in DURATIONS:
        seconds = records[field]
        is_duration = pc.and_(pc.greater_equal(seconds, 0), pc.less_equal(seconds, _MOST_S))
        bad = pc.invert(pc.or_(is_duration, pc.equal(seconds, NOT_MEASURED)))
        records.refuse(bad, f"{field}: a duration in seconds expected", field, seconds)
    ttft_s, _, e2e_s = map(records.__getitem__, DURATIONS)
    early = pc.and_(pc.greater(e2e_s, 0), pc.less(e2e_s, ttft_s))
    reason = "end_to_end_latency_s: it is before ttft_s"
    records.refuse(early, reason, "end_to_end_latency_s", e2e_s)


def _rows(records: Columns, run: Run) -> pa.RecordBatch:
    good = records.sieve.good
    ttfts_s, means_s, e2es_s = (records[field].to_numpy()[good] for field in DURATIONS)
    recounts = records["number_output_tokens"].to_numpy()[good].astype(np.int64)
    statuses, kinds = _outcomes(compress(records.others("error_code"), good.tolist()))
    completed = kinds.is_null().to_numpy(zero_copy_only=False)
    rows, begun = records.numbers[good], ttfts_s > 0
    lasts_s = _lasts_s(ttfts_s, means_s, e2es_s)
    events = np.rint(np.divide(lasts_s, means_s, out=np.zeros(len(rows)), where=means_s > 0))
    merged = events > recounts + EVENTS_WITHOUT_TEXT
    facts: dict[str, Any] = {
        "status": statuses,
        "error_kind": kinds,
        "prompt_tokens": records["number_input_tokens"].filter(pa.array(good)),
        "first_token_ns": _above_0(ttfts_s),
        "last_token_ns": _above_0(lasts_s),
        "stream_close_ns": _above_0(e2es_s),
        "reported": reported_lists(
            [_tools("tpot", _MEAN, means_s, completed), _tools("e2e", _E2E, e2es_s, completed)],
            len(rows),
        ),
    }
    notes = {"end_not_seen": completed, "sentinel_dropped": ~begun, "count_mismatch": merged}
    totals = np.where(begun & ~merged, recounts, -1)
    return batch(run, rows, _no_events(totals, observed=~begun & ~completed), facts, notes)


def _outcomes(codes: Iterable[int | str | None]) -> tuple[pa.Array, pa.Array]:
    """Status and kind of error; a code is HTTP's, or one of the tool's own below 0."""
    listed = list(codes)
    outcomes = {code: _outcome(code) for code in set(listed)}
    found = [outcomes[code] for code in listed]
    return tuple(pa.array([each[at] for each in found], pa.string()) for at in (0, 1))


def _outcome(code: int | str | None) -> tuple[str, str | None]:
    if code is None:
        return "completed", None
    return status_of_http(code if isinstance(code, int) else 0), f"error_code {code}"


def _lasts_s(ttfts_s: Floats, means_s: Floats, e2es_s: Floats) -> Floats:
    """When each last token came; NaN if not known."""
    lasts_s = np.full(len(ttfts_s), np.nan)
    whole = (ttfts_s > 0) & (means_s > 0) & (e2es_s > 0)
    means = Means(means_s[whole], ttfts_s[whole], e2es_s[whole])
    lasts_s[whole] = totals_s(means, np.concatenate((means.least_s, means.most_s)))
    return lasts_s


def _above_0(seconds: Floats) -> pa.Array:
    known = seconds > 0  # NaN is not
    return pa.array(rounded_ns(np.where(known, seconds, 0)), mask=~known)


def _tools(metric: str, formula: str, seconds: Floats, completed: Bools) -> Reported:
    """The tool's own number; that of a failed request follows another formula."""
    there = completed & (seconds > 0)
    return Reported(metric, formula, Cells(rounded_ns(seconds), there, np.zeros_like(there)))


def _no_events(totals: Ints, observed: Bools) -> Events:
    nothing = np.zeros(0, np.int64)
    return Events(
        offsets=np.zeros(len(totals) + 1, np.int64),
        times_ns=nothing,
        counts=nothing,
        counts_source=np.full(len(totals), count_source_code("events")),
        totals=totals,
        totals_source=np.where(totals >= 0, count_source_code("retokenised"), -1),
        observed=observed,
        streamed=np.ones(len(totals), bool),
    )
