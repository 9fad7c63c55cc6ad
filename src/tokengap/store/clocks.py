"""Which clocks can be compared, and how far apart they are: relations of pairs, joined into bases.

A relation says that one clock's time minus another's lies in an interval. Clocks that a chain of
relations joins share a base; where several chains do, the tightest counts. The base is the one with
most relations, for two clocks are compared through it, and a detour widens what is known of them.
What no relation reaches is a base of its own and is left out here.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from tokengap.errors import UsageError

REFERENCE: Final = "reference"
"""The clock that `--clock` offsets are against."""
HOST: Final = "host"
WALL: Final = ":wall"
OF_REQUEST: Final = ":request:"
"""In the id of a clock that only one request's durations are on: it is nobody else's clock."""

CLOCK_OFFSETS: Final = pa.schema({
    "id": pa.string(),
    "base": pa.string(),
    "low_ns": pa.int64(),
    "high_ns": pa.int64(),
    "fixed_base": pa.string(),
    "fixed_ns": pa.int64(),
    "how": pa.string(),
})  # fmt: skip
"""Clock time minus base time lies in low_ns..high_ns. Clocks that share a fixed base are apart by
exactly the difference of their fixed_ns, though not from the others of their base."""


@dataclass(frozen=True)
class ClockOffset:
    """`--clock ID=OFFSET±UNCERTAINTY`: the clock runs ahead of the reference by that much."""

    id: str
    offset_ns: int
    uncertainty_ns: int = 0


@dataclass(frozen=True)
class Seen:
    """One clock in the logs; `traces`: the runs stamped on it. Stages alone have no vantage."""

    id: str
    kind: str | None
    traces: frozenset[str]
    vantage: str | None


@dataclass(frozen=True)
class _Relation:
    other: str
    low_ns: int
    high_ns: int
    how: str


@dataclass(frozen=True)
class _Placed:
    base: str
    low_ns: int
    high_ns: int
    how: str


def clock_offsets(
    logged: Sequence[Mapping[str, object]],
    seen: Sequence[Seen],
    declared: Sequence[ClockOffset] = (),
    *,
    same_clock: bool = False,
) -> pa.Table:
    """Every clock that is related to another, with its base; schema `CLOCK_OFFSETS`.

    logged: rows of schema `CLOCKS`; those without an uncertainty bound nothing. same_clock: all
    was stamped on one host, whose processes share a monotonic clock. Raises UsageError for a
    declared clock that is not in the logs.
    """
    graph: dict[str, list[_Relation]] = defaultdict(list)
    for id_, reference, low, high, how in [
        *_logged(logged),
        *_declared(declared, seen),
        *(_of_one_host(logged, seen) if same_clock else ()),
    ]:
        graph[id_].append(_Relation(reference, low, high, how))
        graph[reference].append(_Relation(id_, -high, -low, how))
    fixed = {
        id_: [to for to in relations if to.low_ns == to.high_ns] for id_, relations in graph.items()
    }
    bases, fixed_bases = _bases(graph), _bases(fixed)
    table = [
        {
            "id": id_,
            "base": placed.base,
            "low_ns": placed.low_ns,
            "high_ns": placed.high_ns,
            "fixed_base": fixed_bases[id_].base,
            "fixed_ns": fixed_bases[id_].low_ns,
            "how": placed.how,
        }
        for id_, placed in bases.items()
    ]
    return pa.Table.from_pylist(table, CLOCK_OFFSETS)


def _bases(graph: Mapping[str, Sequence[_Relation]]) -> dict[str, _Placed]:
    placed: dict[str, _Placed] = {}
    for base in sorted(graph, key=lambda id_: (-len(graph[id_]), id_)):
        if base not in placed:
            placed |= _reached(graph, base)
    return placed


_Edge = tuple[str, str, int, int, str]


def _logged(rows: Iterable[Mapping[str, object]]) -> Iterable[_Edge]:
    for row in rows:
        offset, spread = row["offset_ns"], row["uncertainty_ns"]
        if isinstance(offset, int) and isinstance(spread, int):
            yield str(row["id"]), str(row["reference"]), offset - spread, offset + spread, "logged"


def _declared(declared: Sequence[ClockOffset], seen: Sequence[Seen]) -> Iterable[_Edge]:
    named = {_called(clock.id, seen): clock for clock in declared}
    for id_, clock in named.items():
        low, high = clock.offset_ns - clock.uncertainty_ns, clock.offset_ns + clock.uncertainty_ns
        yield id_, REFERENCE, low, high, "declared"
    outermost = next(
        (v for v in ("client", "gateway", "engine") if v in {s.vantage for s in seen}), None
    )
    ours = {clock.id for clock in seen if clock.vantage == outermost}
    if named and len(ours) == 1 and not ours & named.keys():
        yield ours.pop(), REFERENCE, 0, 0, "the reference: the outermost vantage's clock"


def _called(name: str, seen: Sequence[Seen]) -> str:
    """The clock of that id, of the only id that begins so, or of the run of that name."""
    ids = {clock.id for clock in seen}
    if name in ids:
        return name
    begun = {id_ for id_ in ids if id_.startswith(name)}
    found = begun or {clock.id for clock in seen if name in clock.traces}
    if len(found) == 1:
        return found.pop()
    problem = f"is any of {', '.join(sorted(found))}" if found else "is no clock of these logs"
    known = ", ".join(sorted(ids)) or "none"
    raise UsageError(f"--clock {name}: {problem}; the clocks are: {known}")


def _of_one_host(logged: Iterable[Mapping[str, object]], seen: Sequence[Seen]) -> Iterable[_Edge]:
    kinds = {clock.id: clock.kind for clock in seen if OF_REQUEST not in clock.id}
    kinds |= {
        str(row["reference"]): "wall" for row in logged if str(row["reference"]).endswith(WALL)
    }
    for id_, kind in kinds.items():
        yield id_, f"{HOST}:{kind or 'monotonic'}", 0, 0, "one host, declared"


def _reached(graph: Mapping[str, Sequence[_Relation]], base: str) -> dict[str, _Placed]:
    """All clocks joined to `base`, each by its tightest chain."""
    found: dict[str, _Placed] = {}
    queue = [(0, base, 0, 0, "itself")]
    while queue:
        _, id_, low, high, how = heapq.heappop(queue)
        if id_ in found:
            continue
        found[id_] = _Placed(base, low, high, how)
        for to in graph[id_]:
            if to.other not in found:
                # (other - base) = (id - base) - (id - other)
                step = (low - to.high_ns, high - to.low_ns)
                heapq.heappush(queue, (step[1] - step[0], to.other, *step, to.how))
    return found
