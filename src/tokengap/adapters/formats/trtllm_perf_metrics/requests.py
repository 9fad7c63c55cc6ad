"""What all rows of a request have in common: what it is called, and how it ended."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Bools, Events
from tokengap.adapters.shared.columns import Columns, is_true
from tokengap.adapters.shared.names import Names
from tokengap.adapters.shared.nested import Stage, suffixed
from tokengap.adapters.shared.outcomes import KIND_LIMIT
from tokengap.adapters.shared.row_batches import Rows

COMPLETE: Final = ("complete", "completed")


@dataclass(frozen=True)
class Requests:
    """Requests of some records. names: their ids, ids: those they share with other records.

    facts, notes: columns of `streams` and quality notes of all their rows.
    """

    records: Columns
    clock: str
    names: pa.Array
    ids: Mapping[str, pa.Array]
    facts: Mapping[str, Any]
    notes: Mapping[str, pa.Array]

    def rows(
        self,
        where: Bools,
        facts: Mapping[str, Any],
        *,
        suffix: str = "",
        stages: Sequence[Stage] | None = None,
        marks: Mapping[str, pa.Array] | None = None,
        delivered: Events | None = None,
        lost: Bools | None = None,
    ) -> Rows:
        """Return a row for each record `where` there is one.

        suffix: what the row adds to the request's name. lost: where some deliveries have no time.
        """
        notes = dict(self.notes)
        if delivered is not None and lost is not None:
            notes["events_lost"] = pa.array(delivered.observed & lost)
        names = suffixed(self.names, suffix) if suffix else self.names
        return Rows(
            self.records.numbers,
            self.records.sieve,
            {"request_id": names, "clock_kind": "monotonic", **self.facts, **facts},
            ids=self.ids,
            stages=stages,
            marks=marks or {},
            notes=notes,
            delivered=delivered,
            where=where,
        )


def outcomes(status: pa.Array) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
    """Facts and notes: records are written of requests that completed, older ones without it."""
    unknown = pc.is_null(status)
    completed = pc.or_(unknown, pc.is_in(status, pa.array(COMPLETE)))
    kind = pc.if_else(completed, None, pc.utf8_slice_codeunits(status, 0, KIND_LIMIT))
    facts = {"status": pc.if_else(completed, "completed", "failed"), "error_kind": kind}
    return facts, {"end_not_seen": unknown}


class Log:
    """The requests of one file so far. first: number of its first record."""

    def __init__(self, clock: str, first: int) -> None:
        self.clock = clock
        self._first = first
        self._names = Names()
        self._latest: dict[str, int] = {}
        self._begin_ns, self._end_ns = array("q"), array("q")

    def names(
        self, records: Columns, logged: pa.Array, earliest_ns: pa.Array, latest_ns: pa.Array
    ) -> pa.Array:
        """Name the requests; refuses records of a request that is there.

        logged: what their records call them. earliest, latest: stamps of each.
        """
        self._refuse_copies(records, logged, earliest_ns, latest_ns)
        indices = records.numbers - self._first
        given = self._names.names(logged.to_pylist(), indices, records.sieve.good)
        return logged if given is None else pa.array(given, pa.string())

    def _refuse_copies(
        self, records: Columns, logged: pa.Array, earliest_ns: pa.Array, latest_ns: pa.Array
    ) -> None:
        """Refuse a record of a request that is there: several ranks may each write one.

        Ids begin again when a server is started again; that request was at another time.
        """
        named = is_true(pc.is_valid(logged)) & records.sieve.good
        at = pa.array(named)
        names = logged.filter(at).to_pylist()
        begin_ns, end_ns = earliest_ns.filter(at).to_numpy(), latest_ns.filter(at).to_numpy()
        fresh = dict(zip(names, count(len(self._begin_ns)), strict=False))
        if len(fresh) == len(names) and self._latest.keys().isdisjoint(fresh):
            self._latest |= fresh
            self._begin_ns.frombytes(begin_ns.tobytes())
            self._end_ns.frombytes(end_ns.tobytes())
            return
        copies = named.copy()
        copies[named] = [*map(self._is_copy, names, begin_ns.tolist(), end_ns.tolist())]
        reason = "another record of the same request and time came before"
        records.refuse(pa.array(copies), reason)

    def _is_copy(self, name: str, begin_ns: int, end_ns: int) -> bool:
        at = self._latest.get(name)
        if at is not None and max(begin_ns, self._begin_ns[at]) <= min(end_ns, self._end_ns[at]):
            return True
        self._latest[name] = len(self._begin_ns)
        self._begin_ns.append(begin_ns)
        self._end_ns.append(end_ns)
        return False
