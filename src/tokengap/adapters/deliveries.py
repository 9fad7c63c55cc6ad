"""From content events to deliveries: what a delivery is and how tokens count, said once.

Works on many streams at once, as flat arrays with offsets, so that a log of a hundred million
events and a file of ten requests go through the same rules:

- consecutive events with one receipt time are one delivery;
- N comes from the most trusted count there is, and a whole-text recount is only believed where it
  gives every content event at least one token;
- the split of N over deliveries is known where per-event counts add up to N, or where there are
  exactly N events; otherwise it stays unknown.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokengap.schema import COUNT_SOURCES, GRANULARITIES, STREAMS

COALESCED_GAP_NS: Final = 200_000
COALESCED_SHARE: Final = 0.05

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_USAGE, _TOKEN_IDS, _EVENTS, _RETOKENISED, _REQUESTED = range(len(COUNT_SOURCES))
_TOKEN, _CHUNK, _AGGREGATE = map(GRANULARITIES.index, ("token", "chunk", "aggregate"))


def count_source_code(name: str | None) -> int:
    """Position of a count's source in falling trust; -1 for none."""
    return -1 if name is None else COUNT_SOURCES.index(name)


@dataclass(frozen=True)
class Events:
    """Content events of n streams; stream s holds `offsets[s]:offsets[s + 1]`, in index order.

    counts: tokens per event, 0 where the log does not say; counts_source: where they come from.
    totals: tokens of the whole stream, -1 if not stated; totals_source: -1 if not stated.
    observed: False where the log holds no delivery times at all.
    streamed: False where the whole answer came as one body.
    """

    offsets: Ints
    times_ns: Ints
    counts: Ints
    counts_source: Ints
    totals: Ints
    totals_source: Ints
    observed: Bools
    streamed: Bools


def _per_stream(values: npt.NDArray[Any], offsets: Ints) -> Ints:
    """Sums of `values` over each stream, empty streams included."""
    sizes = np.diff(offsets)
    if values.dtype == bool and values.all():
        return sizes
    some = sizes > 0
    sums = np.zeros(len(some), np.int64)
    if values.any():
        sums[some] = np.add.reduceat(values, offsets[:-1][some], dtype=np.int64)
    return sums


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def running_times(first_ns: Ints, gaps_ns: Ints, gap_counts: Ints) -> Ints:
    """Times of the events of streams of which the first event's time and the gaps are known.

    `gaps_ns` holds the gaps of all streams end to end.
    """
    heads = _offsets(gap_counts + 1)[:-1]
    follows = np.ones(len(gaps_ns) + len(heads), bool)
    follows[heads] = False
    times_ns = np.zeros(len(follows), np.int64)
    times_ns[follows] = gaps_ns
    np.cumsum(times_ns, out=times_ns)
    times_ns += np.repeat(first_ns - times_ns[heads], gap_counts + 1)
    return times_ns


def derive(events: Events) -> tuple[dict[str, pa.Array], dict[str, Bools]]:
    """Columns of `streams` that follow from the events, and of which streams each note is true."""
    sizes = np.diff(events.offsets)
    starts, delivery_offsets = _merge(events)
    deliveries = np.diff(delivery_offsets)
    counted = _counted(events, sizes)
    total, source, split, per_delivery, mismatch = _count(
        events, counted, sizes, starts, delivery_offsets
    )

    times = events.times_ns[starts]
    follows = np.ones(len(times), dtype=bool)
    follows[delivery_offsets[:-1][deliveries > 0]] = False
    gaps = np.diff(times)[follows[1:]]
    gap_counts = np.maximum(deliveries - 1, 0)
    gap_offsets = _offsets(gap_counts)
    has_gap = gap_counts > 0
    least = np.zeros(len(sizes), dtype=np.int64)
    if len(gaps):
        least[has_gap] = np.minimum.reduceat(gaps, gap_offsets[:-1][has_gap])
    tiny = _per_stream((gaps >= 0) & (gaps < COALESCED_GAP_NS), gap_offsets)

    first = np.zeros(len(sizes), dtype=np.int64)
    first[deliveries > 0] = times[delivery_offsets[:-1][deliveries > 0]]
    one_each = split & (_per_stream(per_delivery != 1, delivery_offsets) == 0)
    only_events = (source == _EVENTS) & (sizes > 0) & ~counted

    notes = {
        "non_monotonic": has_gap & (least < 0),
        "coalesced_reads": tiny > COALESCED_SHARE * gap_counts,
        "count_mismatch": mismatch,
        "tokens_are_events": only_events,
        "not_streamed": ~events.streamed,
    }
    granularity = np.where(one_each & ~only_events & (sizes > 0), _TOKEN, _CHUNK)
    granularity[~events.observed] = _AGGREGATE
    columns = {
        "first_token_ns": pa.array(first, mask=deliveries == 0),
        "gaps_ns": _lists(gaps, gap_offsets, ~events.observed, "gaps_ns"),
        "min_gap_ns": pa.array(least, mask=~has_gap),
        "token_counts": _lists(
            per_delivery.astype(np.int32), delivery_offsets, ~split | one_each, "token_counts"
        ),
        "output_tokens": pa.array(total.astype(np.int32), mask=total < 0),
        "token_count_source": _names(COUNT_SOURCES, source),
        "granularity": _names(GRANULARITIES, granularity),
    }
    return columns, notes


def _merge(events: Events) -> tuple[Ints, Ints]:
    """First event of every delivery, and each stream's range of deliveries."""
    fresh = np.ones(len(events.times_ns), dtype=bool)
    fresh[1:] = events.times_ns[1:] != events.times_ns[:-1]
    heads = events.offsets[:-1][np.diff(events.offsets) > 0]
    fresh[heads] = True
    return np.flatnonzero(fresh), _offsets(_per_stream(fresh, events.offsets))


def _counted(events: Events, sizes: Ints) -> Bools:
    """Streams whose every event says how many tokens it holds."""
    counted: Bools = (sizes > 0) & (_per_stream(events.counts <= 0, events.offsets) == 0)
    return counted


def _count(
    events: Events, counted: Bools, sizes: Ints, starts: Ints, delivery_offsets: Ints
) -> tuple[Ints, Ints, Bools, Ints, Bools]:
    """N, its source, is the split known, tokens per delivery, do the counts disagree."""
    summed = _per_stream(events.counts, events.offsets)
    stated = events.totals >= 0
    trusted = stated & (events.totals_source <= _TOKEN_IDS)
    recount = stated & (events.totals_source == _RETOKENISED) & (events.totals >= sizes)
    by_events = events.observed & (events.streamed | counted)
    total = np.select(
        [trusted, counted, recount, by_events, stated],
        [events.totals, summed, events.totals, sizes, events.totals],
        -1,
    )
    source = np.select(
        [trusted, counted, recount, by_events, stated],
        [
            events.totals_source,
            events.counts_source,
            events.totals_source,
            _EVENTS,
            events.totals_source,
        ],
        -1,
    )
    use_counts = counted & (summed == total)
    use_events = ~use_counts & (sizes == total) & (sizes > 0)
    own = np.where(counted, summed, sizes)
    mismatch = stated & events.observed & events.streamed & (events.totals != own)

    split = use_counts | use_events
    bundled = np.diff(starts, append=len(events.times_ns))
    if not use_counts.any():
        return total, source, split, bundled, mismatch
    added = np.add.reduceat(events.counts, starts) if len(starts) else bundled
    by_count = np.repeat(use_counts, np.diff(delivery_offsets))
    return total, source, split, np.where(by_count, added, bundled), mismatch


def _names(names: tuple[str, ...], codes: Ints) -> pa.Array:
    """The names at these places; NULL where a place is negative."""
    which = pa.array(codes, pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(which, pa.array(names, pa.string())).dictionary_decode()


def _lists(values: npt.NDArray[Any], offsets: Ints, null: Bools, name: str) -> pa.Array:
    # Older Arrow cannot write a null list that still has values.
    lengths = np.diff(offsets)
    values = values[np.repeat(~null, lengths)]
    offsets = _offsets(np.where(null, 0, lengths))
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.array(values),
        type=STREAMS.field(name).type,
        mask=pa.array(null),
    )
