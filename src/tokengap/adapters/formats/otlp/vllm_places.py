"""Which run and choice of its request id each span is, for many spans at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from tokengap.adapters.deliveries import Bools, Ints
from tokengap.adapters.formats.otlp.reuse import DECODE, PREFILL, RELAY_LIMIT_NS, Half, runs

_PAIR: Final = 2
_ROLES: Final = np.array([None, PREFILL, DECODE])


@dataclass(frozen=True)
class Spans:
    """Spans in columns. Those with one number in `ids` have one request id in one run or more.

    file, place: in which order they were logged. prefill, decode: whether a server of such halves
    wrote them. process: its number.
    """

    ids: Ints
    file: Ints
    place: Ints
    span_id: pa.Array
    prefill: Bools
    decode: Bools
    process: Ints
    start_ns: Ints
    end_ns: Ints

    def halves(self, at: Ints) -> Iterator[Half]:
        """The halves of which these spans are the first choices."""
        roles = _ROLES[self.prefill[at] + 2 * self.decode[at]]
        columns = (np.arange(len(at)), roles, self.start_ns[at], self.end_ns[at])
        return map(Half, *(column.tolist() for column in columns))


@dataclass(frozen=True)
class Places:
    """Run and choice of each span, both from 0, and of how many choices it is one.

    repeated: spans that were exported more than once. extra: all but the first of each such.
    """

    run: Ints
    choice: Ints
    choices: Ints
    repeated: Bools
    extra: Bools


def places(spans: Spans) -> Places:
    """Place all spans."""
    logged = np.lexsort((spans.place, spans.file))
    repeated, extra = _repeats(spans, logged)
    kept = logged[~extra[logged]]
    keys = (spans.process, spans.start_ns, spans.ids)
    order = kept[np.lexsort([key[kept] for key in keys])]
    begins = np.any([_changes(key[order]) for key in keys], axis=0)
    half, firsts = np.cumsum(begins) - 1, np.flatnonzero(begins)
    run, choice, choices = (np.zeros(len(logged), np.int64) for _ in range(3))
    run[order] = _runs(spans, order[firsts])[half]
    choice[order] = np.arange(len(order)) - firsts[half]
    choices[order] = np.bincount(half)[half]
    return Places(run, choice, choices, repeated, extra)


def _repeats(spans: Spans, logged: Ints) -> tuple[Bools, Bools]:
    """Spans that were exported more than once, and all but the first of each."""
    names = spans.span_id.dictionary_encode()
    both = spans.ids * len(names.dictionary) + names.indices.to_numpy()
    _, first, which, counts = np.unique(
        both[logged], return_index=True, return_inverse=True, return_counts=True
    )
    repeated, extra = np.zeros(len(logged), bool), np.ones(len(logged), bool)
    repeated[logged] = counts[which] > 1
    extra[logged[first]] = False
    return repeated, extra


def _runs(spans: Spans, firsts: Ints) -> Ints:
    """Run of each half, of which those of one id follow each other."""
    found = np.zeros(len(firsts), np.int64)
    begins = np.flatnonzero(_changes(spans.ids[firsts]))
    sizes = np.diff(np.append(begins, len(firsts)))
    pairs, again = begins[sizes == _PAIR], sizes > 1
    again[sizes == _PAIR] = ~_are_one(spans, firsts[pairs], firsts[pairs + 1])
    at = np.flatnonzero(np.repeat(again, sizes))
    halves = spans.halves(firsts[at])
    numbered = [runs([next(halves) for _ in range(size)]) for size in sizes[again].tolist()]
    if numbered:
        number, run = np.array(list(chain.from_iterable(numbered)), np.int64).T
        found[at[number]] = run
    return found


def _are_one(spans: Spans, one: Ints, other: Ints) -> Bools:
    """Tell which two halves are one request, as `runs` does: nearly all of a split log are."""
    swapped = spans.decode[one]
    prefill, decode = np.where(swapped, (other, one), (one, other))
    relay_ns = spans.start_ns[decode] - spans.end_ns[prefill]
    are_one: Bools = (
        (spans.prefill[prefill] & spans.decode[decode])
        & (spans.start_ns[prefill] <= spans.end_ns[decode])
        & (relay_ns <= RELAY_LIMIT_NS)
    )
    return are_one


def _changes(values: Ints) -> Bools:
    """Where a value is not the one before it."""
    changes: Bools = np.append(True, values[1:] != values[:-1])[: len(values)]
    return changes
