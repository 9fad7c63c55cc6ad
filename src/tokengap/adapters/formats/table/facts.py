"""What a table says of each request besides its tokens, as columns of `streams`."""

from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.formats.table.mapping import COUNTS, TEXTS, Map
from tokengap.adapters.formats.table.values import Values
from tokengap.adapters.shared.cells import Cells
from tokengap.adapters.shared.lines import COUNT_LIMIT
from tokengap.adapters.shared.nested import Constants, Reported, prefixed, reported_lists, text_maps
from tokengap.schema import ORIGINS, STATUSES, STREAMS, TIME_LIMIT_NS

TIME_COLUMNS: Final = {
    **{origin: f"{origin}_ns" for origin in ORIGINS},
    "first_token": "first_token_ns", "last_token": "last_token_ns",
    "end": "stream_close_ns", "first_answer": "first_answer_ns",
}  # fmt: skip
"""What the times of a map are called in `streams`."""

Same = Callable[[str, object], pa.Array]
"""Makes a column, by its name, of one value in all rows."""


def facts(
    values: Values, numbers: Ints, trace: str, source_id: str, constants: Constants
) -> dict[str, pa.Array]:
    """Columns of `streams`, a value per row; refuses rows that hold what cannot be.

    numbers: line or index of each row. constants: of the file.
    """
    mapping, columns = values.map, values.map.columns
    same = partial(constants.column, rows=values.size)
    lines = pc.cast(pa.array(numbers), pa.string())
    found = {
        "request_id": _request_ids(values, lines),
        "source": prefixed(f"{source_id}:", lines),
        "clock": _clocks(mapping, source_id, lines, same),
        "status": _statuses(values, same),
        "ids": _maps(values, "ids"),
        "labels": _maps(values, "labels"),
        "reported": _reported(values),
        "marks": same("marks", []),
        "vantage": same("vantage", mapping.vantage),
        "clock_kind": same("clock_kind", _clock_kind(mapping)),
    }
    for name in TEXTS:
        if (text := getattr(columns, name)) is not None:
            found[name] = values.text(("columns", name), text)
    for name in COUNTS:
        if (count := getattr(columns, name)) is not None:
            limit = TIME_LIMIT_NS if name == "kv_bytes" else COUNT_LIMIT
            found[name] = column(name, values.count(name, count, limit))
    for name, column_name in TIME_COLUMNS.items():
        if (stamp := values.stamp(name)) is not None:
            found[column_name] = column(column_name, stamp)
    return found | _filled(values, found, trace, same)


def column(name: str, cells: Cells) -> pa.Array:
    """Cells as the column `name` of `streams`."""
    return pa.array(cells.values, STREAMS.field(name).type, mask=~cells.there)


def _filled(
    values: Values, found: dict[str, pa.Array], trace: str, same: Same
) -> dict[str, pa.Array]:
    """Columns that are never NULL, whatever is mapped, and those that follow from another."""
    filled = {
        name: pc.fill_null(found[name], 0) if name in found else same(name, 0)
        for name in ("attempt", "choice")
    }
    traces = same("trace", trace)
    if values.map.columns.trace is not None:
        traces = pc.coalesce(values.text(("columns", "trace"), values.map.columns.trace), traces)
    filled["trace"] = traces
    if "last_prefill_token" in found:
        known = pc.is_valid(found["last_prefill_token"])
        filled["handoff_source"] = pc.if_else(known, "log", pa.scalar(None, pa.string()))
    if not values.map.holds_tokens:
        filled["granularity"] = same("granularity", "workload")
    return filled


def _request_ids(values: Values, lines: pa.Array) -> pa.Array:
    cell = values.map.columns.request_id
    if cell is None:
        return lines
    names = values.text(("columns", "request_id"), cell)
    missing = pc.is_null(names).to_numpy(zero_copy_only=False)
    values.sieve.refuse(missing, "missing", cell.column or "request_id")
    return names


def _clocks(mapping: Map, source_id: str, lines: pa.Array, same: Same) -> pa.Array:
    """The clock of each row: its own, where nothing but durations is known."""
    if mapping.own_origin is not None:
        return prefixed(f"{source_id}:", lines)
    name = source_id if mapping.clock is None else mapping.clock.id or source_id
    return same("clock", name)


def _clock_kind(mapping: Map) -> str:
    return "monotonic" if mapping.clock is None else mapping.clock.kind


def _statuses(values: Values, same: Same) -> pa.Array:
    cell = values.map.columns.status
    if cell is None:
        return same("status", "completed")
    statuses = values.text(("columns", "status"), cell)
    known = pc.is_in(statuses, pa.array(STATUSES)).to_numpy(zero_copy_only=False)
    reason = f"no status ({', '.join(STATUSES)}); say in `values` or `other` what it means"
    values.sieve.refuse(~known, reason, cell.column or "status", values.column(cell))
    return statuses


def _maps(values: Values, part: str) -> pa.Array:
    cells = getattr(values.map, part).items()
    return text_maps(part, {n: values.text((part, n), cell) for n, cell in cells}, values.size)


def _reported(values: Values) -> pa.Array:
    found = []
    for name, cell in values.map.reported.items():
        formula = cell.formula or f"table: {cell.column}"
        found.append(Reported(name, formula, values.as_given("reported", name, cell)))
    return reported_lists(found, values.size)
