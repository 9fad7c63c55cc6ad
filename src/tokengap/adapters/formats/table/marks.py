"""Rows of a token table that are no tokens: when a request began, and how it ended."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.formats.table.mapping import ENDS, KINDS
from tokengap.adapters.shared.spill import GROUP
from tokengap.schema import ORIGINS, STREAMS

MARKS: Final = pa.schema({
    GROUP: pa.int32(), "line": pa.int64(), "t_ns": pa.int64(), "kind": pa.int8(),
})  # fmt: skip
"""Rows as they are put aside, a group per request."""
COMPLETED: Final = "done"
END_KINDS: Final = [KINDS.index(kind) for kind in ENDS]

_MARK_OF: Final = {"failed": "error"}
"""What `streams.marks` calls the end of a failed stream."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Such rows, sorted by request and line; kind: position in `KINDS`."""

    request: Ints
    t_ns: Ints
    kind: Ints

    @classmethod
    def of(cls, table: pa.Table, first: int) -> "Marks":
        """Those of a sorted table; requests are numbered from `first` on."""
        names = (GROUP, "t_ns", "kind")
        group, t_ns, kind = (table.column(n).to_numpy().astype(np.int64) for n in names)
        return cls(group - first, t_ns, kind)

    def columns(self, facts: Mapping[str, pa.Array], count: int) -> dict[str, pa.Array]:
        """Columns of `streams` that they make or complete; what a column says comes first."""
        found = {}
        for origin in ORIGINS:
            name = f"{origin}_ns"
            first = self._first(KINDS.index(origin), count)
            found[name] = pc.coalesce(facts[name], first) if name in facts else first
        marks: list[list[dict[str, object]]] = [[] for _ in range(count)]
        closes: list[int | None] = [None] * count
        for request, t_ns, kind in self._ends():
            marks[request].append({"kind": _MARK_OF.get(kind, kind), "t_ns": t_ns})
            closes[request] = t_ns
        found["marks"] = pa.array(marks, STREAMS.field("marks").type)
        close = pa.array(closes, pa.int64())
        given = facts.get("stream_close_ns")
        found["stream_close_ns"] = close if given is None else pc.coalesce(given, close)
        return found

    def statuses(self, count: int, *, ends_logged: bool) -> pa.Array:
        """How each request ended: by its first end, of which a failure wins.

        Without one it was cut off, if the file logs ends at all, and else it is taken as completed.
        """
        ends: dict[int, list[str]] = defaultdict(list)
        for request, _, kind in self._ends():
            ends[request].append("completed" if kind == COMPLETED else kind)
        default = ["truncated" if ends_logged else "completed"]
        found = (ends.get(request, default) for request in range(count))
        return pa.array(["failed" if "failed" in each else each[0] for each in found], pa.string())

    def _first(self, kind: int, count: int) -> pa.Array:
        """The time of each request's first event of a kind."""
        of_kind = np.flatnonzero(self.kind == kind)
        requests, first = np.unique(self.request[of_kind], return_index=True)
        times, missing = np.zeros(count, np.int64), np.ones(count, bool)
        times[requests], missing[requests] = self.t_ns[of_kind[first]], False
        return pa.array(times, mask=missing)

    def _ends(self) -> list[tuple[int, int, str]]:
        """Request, time and kind of every end."""
        at = np.isin(self.kind, END_KINDS)
        columns = (self.request[at].tolist(), self.t_ns[at].tolist(), self.kind[at].tolist())
        return [(request, t_ns, KINDS[kind]) for request, t_ns, kind in zip(*columns, strict=True)]
