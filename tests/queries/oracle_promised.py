"""What the relations `promised_*` hold, by the definitions: plain Python, no SQL."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from tests.queries.given import NOTHING_DECLARED, Row
from tests.queries.observed import Observed
from tests.queries.oracle_requests import LEFT, OUTERMOST_FIRST, WORST_LAST, Judged, last_attempts
from tokengap.slo.limits import STATISTICS
from tokengap.slo.model import MATCHED
from tokengap.store.promised import SERVICE_LIMITS, SERVICE_MEMBERS, Promised

HOUR_NS: Final = 3600 * 10**9
DAY_NS: Final = 24 * HOUR_NS
BEGINS: Final = ("sent_ns", "received_ns", "arrival_ns", "planned_ns", "first_token_ns")
VERDICTS: Final = ("not_applicable", "met", "unknown", "missed")
DIMENSIONS: Final = {
    "tenant": "tenant", "model": "model", "deployment": "deployment", "slo_class": "slo_class",
    "worker": "worker", "handoff": "handoff_place",
}  # fmt: skip


@dataclass(frozen=True)
class Held:
    """What is promised to a profile on one day, and when not; the day is None without a date."""

    profile: int
    day: int | None
    vantage: str = "client"
    limits: Mapping[str, int] = field(default_factory=dict)
    excluded: Sequence[tuple[int, int]] = ()


Members = Mapping[tuple[str | None, ...], int]
"""Profile by the columns `MATCHED`."""


def tables(members: Members, held: Iterable[Held]) -> Promised:
    """As the library is given them."""
    of = [
        dict(zip(MATCHED, columns, strict=True)) | {"profile": n} for columns, n in members.items()
    ]
    limits: list[Row] = [
        {"profile": each.profile, "day": each.day, "vantage": each.vantage}
        | {f"{name}_limit_ns": limit_ns for name, limit_ns in each.limits.items()}
        | {"excluded_spans": [{"start_ns": a, "end_ns": b} for a, b in each.excluded] or None}
        for each in held
    ]
    return Promised(
        pa.Table.from_pylist(of, SERVICE_MEMBERS), pa.Table.from_pylist(limits, SERVICE_LIMITS)
    )


@dataclass(frozen=True)
class Choice:
    """One stream of a request, and what was promised of it."""

    j: Judged
    held: Held

    @property
    def began_ns(self) -> int | None:
        return next((self.j.s[name] for name in BEGINS if self.j.s[name] is not None), None)

    @property
    def hour(self) -> int | None:
        if self.held.day is None or self.began_ns is None:
            return None
        return self.began_ns // HOUR_NS

    @property
    def excluded(self) -> bool:
        began_ns = self.began_ns
        return began_ns is not None and any(a <= began_ns < b for a, b in self.held.excluded)

    @property
    def has_token(self) -> bool:
        tokens = self.j.s["output_tokens"]
        if tokens is not None:
            return bool(tokens > 0)
        return self.j.s.last_ns is not None or self.j.ttft.exact is not None

    @property
    def place(self) -> str | None:
        if self.j.handoff_gap.reason == "inside_ttft":
            return "inside_ttft"
        k, source = self.j.s.handoff
        if source == "none":
            return "none"
        return "gap" if (k or 0) > 0 else None

    def verdict(self, statistic: str) -> str | None:
        limit_ns = self.held.limits.get(statistic)
        return None if limit_ns is None else self.j.verdict(statistic, limit_ns)

    @property
    def ratios(self) -> dict[str, float]:
        """How many limits long each value is at least, where that is known."""
        return {
            name: float(low / limit_ns)
            for name, limit_ns in self.held.limits.items()
            if (low := self.j.value(name).low) is not None
        }


def requests(rows: Iterable[Row], members: Members, held: Iterable[Held]) -> list[Row]:
    """Rows of `promised_requests`; `furthest` is a dict of ratios by statistic instead."""
    days = {(each.profile, each.day, each.vantage): each for each in held}
    by_request: dict[tuple[Any, ...], list[Choice]] = defaultdict(list)
    rows = list(rows)
    for vantage in OUTERMOST_FIRST:
        seen = [row for row in rows if Observed(row).vantage == vantage]
        for j in last_attempts(seen, NOTHING_DECLARED):
            profile = members.get(tuple(j.s[column] for column in MATCHED))
            began = next((j.s[name] for name in BEGINS if j.s[name] is not None), None)
            wall = j.s["clock_kind"] == "wall" and began is not None
            day = began // DAY_NS if wall and began is not None else None
            if profile is not None and (profile, day, vantage) in days:
                by_request[profile, *j.key].append(Choice(j, days[profile, day, vantage]))
    return [_request(key, choices) for key, choices in by_request.items()]


def _request(key: tuple[Any, ...], choices: Sequence[Choice]) -> Row:
    profile, trace, request_id, _, _ = key
    first = choices[0].j.s
    tokens = [each.j.s["output_tokens"] for each in choices]
    status = max((each.j.s["status"] for each in choices), key=WORST_LAST.index)
    verdicts = {name: _worst(each.verdict(name) for each in choices) for name in STATISTICS}
    told = set(verdicts.values())
    pair = verdicts["tpot"], verdicts["worst_gap"]
    stall = {("met", "missed"): "hidden", ("met", "unknown"): "possible",
             ("unknown", "missed"): "possible"}.get((str(pair[0]), str(pair[1])))  # fmt: skip
    has_token = any(each.has_token for each in choices)
    ratios: dict[str, float] = {}
    for each in choices:
        for name, ratio in each.ratios.items():
            ratios[name] = max(ratio, ratios.get(name, -math.inf))
    return {
        "profile": profile,
        "day": _least(each.held.day for each in choices),
        "hour": _least(each.hour for each in choices),
        "began_ns": _least(each.began_ns for each in choices),
        "trace": trace,
        "request_id": request_id,
        **{column: first[column] for column in MATCHED},
        "worker": first["decode_worker"] or first["prefill_worker"],
        "status": status,
        "origin": min(each.j.s.origin for each in choices),
        "granularity": min(each.j.s["granularity"] for each in choices),
        "handoff_place": _least(each.place for each in choices),
        "prompt_tokens": max(
            (n for each in choices if (n := each.j.s["prompt_tokens"]) is not None), default=None
        ),
        "output_tokens": None if None in tokens else sum(tokens),
        **verdicts,
        **{
            f"{name}_ns": _whole(each.j.value(name).exact for each in choices)
            for name in STATISTICS
        },
        **{
            f"{name}_limit_ns": _most(each.held.limits.get(name) for each in choices)
            for name in STATISTICS
        },
        "offered": status not in LEFT or (status == "cancelled" and "missed" in told),
        "good": status == "completed" and has_token and not told & {"missed", "unknown"},
        "stall": stall if status == "completed" else None,
        "furthest": ratios,
        "handoff_boundary": "stream",
        "source": min(each.j.s["source"] for each in choices),
        "excluded": any(each.excluded for each in choices),
    }


def _worst(verdicts: Iterable[str | None]) -> str | None:
    return max((v for v in verdicts if v is not None), key=VERDICTS.index, default=None)


def _least(values: Iterable[Any]) -> Any:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def _whole(values: Iterable[Any]) -> Any:
    known = list(values)
    return None if None in known else max(known)


def _counted(found: Iterable[Row]) -> list[Row]:
    return [row for row in found if row["offered"] and not row["excluded"]]


def _groups(found: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in found:
        groups[tuple(row[column] for column in columns)].append(row)
    return groups


def work(row: Row) -> int:
    return (row["prompt_tokens"] or 0) + (row["output_tokens"] or 0)


def hours(found: Iterable[Row]) -> list[Row]:
    kept = [row for row in found if not row["excluded"]]
    return [
        {
            "profile": profile,
            "hour": hour,
            "offered": sum(row["offered"] for row in rows),
            "not_offered": sum(not row["offered"] for row in rows),
            "good": sum(row["good"] and row["offered"] for row in rows),
            "completed": sum(row["status"] == "completed" for row in rows),
            "hidden": sum(row["stall"] == "hidden" for row in rows),
            "possible": sum(row["stall"] == "possible" for row in rows),
            "work_tokens": sum(map(work, rows)),
            **{
                name: {
                    verdict: sum(row["offered"] and row[name] == verdict for row in rows)
                    for verdict in ("met", "missed", "unknown")
                }
                for name in STATISTICS
            },
        }
        for (profile, hour), rows in _groups(kept, "profile", "hour").items()
    ]


def length_bin(tokens: int | None, per_doubling: int) -> int | None:
    """The largest b for which 2^(b / per_doubling) is no more than so many."""
    if tokens is None:
        return None
    return -1 if tokens < 1 else int(tokens**per_doubling).bit_length() - 1


def cells(found: Iterable[Row], block_ns: int) -> list[Row]:
    groups: dict[tuple[Any, ...], list[tuple[str, float | None]]] = defaultdict(list)
    for row in _counted(found):
        place = (
            row["profile"],
            None if row["began_ns"] is None else row["began_ns"] // block_ns,
            length_bin(row["prompt_tokens"], 4),
            length_bin(row["output_tokens"], 2),
            row["status"] == "completed",
        )
        for name in STATISTICS:
            if row[name] in {"met", "missed", "unknown"}:
                most = 2 * row[f"{name}_limit_ns"]
                value = row[f"{name}_ns"]
                groups[*place, name].append(
                    (row[name], None if value is None else min(value, most))
                )
        groups[*place, "good"].append(("met" if row["good"] else "missed", None))
    names = ("profile", "block", "prompt_bin", "output_bin", "finished", "statistic")
    return [
        dict(zip(names, key, strict=True)) | _sums(each, finished=key[4])
        for key, each in groups.items()
    ]


def _sums(each: Sequence[tuple[str, float | None]], *, finished: bool) -> Row:
    values = [float(max(value, 1000)) for _, value in each if value is not None and finished]
    return {
        "applies": len(each),
        "met": sum(verdict == "met" for verdict, _ in each),
        "valued": len(values),
        "log_sum": math.fsum(map(math.log, values)) if values else None,
    }


def contributors(found: Iterable[Row]) -> list[Row]:
    counts: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in _counted(found):
        values = [(name, row[column]) for name, column in DIMENSIONS.items()]
        for dimension, value in values:
            counts[row["profile"], dimension, value].update(offered=1, bad=not row["good"])
    names = ("profile", "dimension", "value")
    return [dict(zip(names, key, strict=True)) | count for key, count in counts.items()]


def places(found: Iterable[Row]) -> list[Row]:
    names = ("profile", "origin", "granularity", "handoff_place", "handoff_boundary")
    groups = _groups(_counted(found), *names)
    return [
        dict(zip(names, key, strict=True)) | {"offered": len(rows)} for key, rows in groups.items()
    ]


def works(found: Iterable[Row]) -> list[Row]:
    names = ("profile", "deployment", "day")
    return [
        dict(zip(names, key, strict=True))
        | {"requests": len(rows), "work_tokens": sum(map(work, rows))}
        for key, rows in _groups(found, *names).items()
    ]


def worst(found: Iterable[Row]) -> list[Row]:
    """Keys of the requests in `promised_worst`, with their ratio, all that they missed."""
    rows = [
        (max(row["furthest"][name] for name in missed), row, missed)
        for row in _counted(found)
        if (missed := [n for n in STATISTICS if row[n] == "missed" and n in row["furthest"]])
    ]
    return [
        {
            **{name: row[name] for name in ("profile", "trace", "request_id", "began_ns")},
            "ratio": ratio,
            "missed": [name for name in STATISTICS if row[name] == "missed"],
            **{
                name: row[name]
                for name in ("prompt_tokens", "output_tokens", "tenant", "model", "worker")
            },
        }
        for ratio, row, missed in rows
        if ratio > 1
    ]  # fmt: skip
