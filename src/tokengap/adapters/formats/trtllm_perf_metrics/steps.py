"""Steps of the engine that made tokens of requests, and the deliveries that they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import inspect

from tokengap.adapters.deliveries import Bools, Events, Ints, count_source_code
from tokengap.adapters.formats.trtllm_perf_metrics.record import Step
from tokengap.adapters.formats.trtllm_perf_metrics.stamps import Stamps
from tokengap.adapters.shared.columns import is_true
from tokengap.adapters.shared.fields import Layout

_STEP: Final = Layout(inspect.type_info(Step))


@dataclass(frozen=True)
class Steps:
    """When the tokens of each step were there, in ns, record after record.

    sizes: steps of each record. known: which records tell of steps at all. lost: which leave out a
    step, or its time.
    """

    sizes: Ints
    times_ns: Ints
    known: Bools
    lost: Bools

    @property
    def first_ns(self) -> pa.Array:
        """The first one of each record, NULL without one."""
        some = self.sizes > 0
        first_ns = np.zeros(len(some), np.int64)
        first_ns[some] = self.times_ns[_begins(self.sizes)[some]]
        return pa.array(first_ns, mask=~some)

    @property
    def extent(self) -> tuple[pa.Array, pa.Array]:
        """The earliest and the latest one of each record, NULL without one."""
        some = self.sizes > 0
        ends = []
        for function in (np.minimum, np.maximum):
            found = np.zeros(len(some), np.int64)
            if len(self.times_ns):
                found[some] = function.reduceat(self.times_ns, _begins(self.sizes)[some])
            ends.append(pa.array(found, mask=~some))
        return ends[0], ends[1]

    def after(self, first_ns: pa.Array) -> "Steps":
        """Those after a stamp of each record; none where it is NULL."""
        at = pc.fill_null(first_ns, np.iinfo(np.int64).max).to_numpy()
        later = self.times_ns > np.repeat(at, self.sizes)
        return Steps(_kept(self.sizes, later), self.times_ns[later], self.known, self.lost)


def no_steps(records: int) -> Steps:
    """Records without steps."""
    none = np.zeros(records, bool)
    return Steps(np.zeros(records, np.int64), np.zeros(0, np.int64), none, none)


def steps_of(listed: Sequence[Sequence[Step]], last_token_ns: pa.Array, stamps: Stamps) -> Steps:
    """Read the steps of each record.

    With the overlap scheduler, each step's time is written on the next one, and the last one's is
    that of the last token, unless that was there before: then it made none. The first step's
    `prev_batch_token_time` belongs to no step of its request.
    """
    sizes = np.fromiter(map(len, listed), np.int64)
    known = sizes > 0
    if not known.any():
        return no_steps(len(listed))
    fields = _STEP.fields(list(chain.from_iterable(listed))).arrays
    owners = np.repeat(np.arange(len(sizes)), sizes)
    begins = _begins(sizes)[known]
    ends = begins + sizes[known] - 1
    own_ns = stamps.of_many(fields["token_time"], "token_time", owners)
    is_first = np.zeros(len(owners), bool)
    is_first[begins] = True
    before = pc.if_else(pa.array(is_first), None, fields["prev_batch_token_time"])
    late_ns = np.roll(stamps.of_many(before, "prev_batch_token_time", owners), -1)
    late_ns[ends] = pc.fill_null(last_token_ns, 0).to_numpy()[known]
    times_ns = np.where(own_ns, own_ns, late_ns)

    earlier_ns = np.where(is_first[ends], 0, times_ns[ends - 1])
    made_none = (own_ns[ends] == 0) & (times_ns[ends] > 0) & (times_ns[ends] <= earlier_ns)
    made = np.ones(len(owners), bool)
    made[ends[made_none]] = False
    lost = _have_hole(fields["iter"], owners, len(sizes))
    lost[owners[made & (times_ns == 0)]] = True
    found = made & (times_ns > 0)
    return Steps(_kept(sizes, found), times_ns[found], known, lost)


def deliveries(first_ns: pa.Array | None, steps: Steps, where: Bools, tokens: int = 0) -> Events:
    """Each step as a delivery, after a first one; nothing is known but `where`.

    tokens: of each delivery, 0 if that is not known.
    """
    sizes = np.where(where, steps.sizes, 0)
    inner_ns = steps.times_ns[np.repeat(where, steps.sizes)]
    if first_ns is not None:
        begins = _begins(sizes)[where]
        inner_ns = np.insert(inner_ns, begins, first_ns.filter(pa.array(where)).to_numpy())
        sizes += where
    source = count_source_code("events")
    unstated = np.full(len(sizes), -1)
    return Events(
        offsets=np.concatenate(([0], np.cumsum(sizes))),
        times_ns=inner_ns,
        counts=np.full(len(inner_ns), tokens),
        counts_source=np.full(len(sizes), source),
        totals=unstated,
        totals_source=unstated,
        observed=where,
        streamed=np.ones(len(sizes), bool),
    )


def _have_hole(numbers: pa.Array, owners: Ints, records: int) -> Bools:
    """Where the steps' own numbers leave one out."""
    there = is_true(pc.is_valid(numbers))
    of, known = owners[there], numbers.drop_null().to_numpy()
    hole = np.zeros(records, bool)
    hole[of[1:][(of[1:] == of[:-1]) & (known[1:] != known[:-1] + 1)]] = True
    return hole


def _begins(sizes: Ints) -> Ints:
    begins: Ints = np.cumsum(sizes) - sizes
    return begins


def _kept(sizes: Ints, kept: Bools) -> Ints:
    """Sizes of the records when only some of their steps are kept."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return np.bincount(owners[kept], minlength=len(sizes))
