"""The map of a table: a TOML file that says what its columns mean.

    rows = "request"               # or "token": what one row is
    vantage = "gateway"            # where the times were stamped: client, gateway, engine
    clock = { kind = "wall" }      # or "monotonic"; id = "...": shared with other files

    [columns]                      # what it is = where it is
    request_id = "id"
    sent = { column = "start", unit = "ms" }
    first_token = { column = "ttft", unit = "ms", since = "sent" }

A column that needs no more than its name may be given as text. Every time has a unit: s, ms, us,
ns, or iso for a date and time. It is a stamp, or with `since` the duration since another one. If
nothing but durations is there, each request is on a clock of its own.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from tokengap.schema import ORIGINS, STATUSES

Unit = Literal["s", "ms", "us", "ns", "iso"]
DurationUnit = Literal["s", "ms", "us", "ns"]
CountSource = Literal["usage", "token_ids", "events", "retokenised", "requested"]
Vantage = Literal["client", "gateway", "engine"]
Sentinels = tuple[int | float | str, ...]

TEXTS: Final = (
    "error_kind", "finish_reason", "deployment", "model", "tenant", "slo_class",
    "prefill_worker", "decode_worker",
)  # fmt: skip
"""Columns of text that are kept as they are."""
COUNTS: Final = (
    "attempt", "choice", "prompt_tokens", "cached_prompt_tokens", "requested_output_tokens",
    "kv_bytes", "last_prefill_token",
)  # fmt: skip
TIMES: Final = (*ORIGINS, "first_token", "last_token", "end", "first_answer", "time")
"""Columns of one time each, which others may count from."""
OF_REQUEST_ROWS: Final = ("first_token", "last_token", "token_times", "gaps", "token_counts")
OF_TOKEN_ROWS: Final = ("time", "index", "tokens", "event")
ENDS: Final = ("done", *STATUSES[1:])
"""Kinds of event that end a stream: done completes it, the others are the status it gets."""
KINDS: Final = ("token", *ORIGINS, *ENDS)
IGNORED: Final = "ignore"
"""Stands for kinds of event that say nothing."""


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Part of a map: what it does not know is an error."""


class Cell(_Strict):
    """Where a value is found. optional: the table may lack the column."""

    column: str | None = None
    missing: Sentinels = ()
    optional: bool = False

    @property
    def constant(self) -> Any:
        """The value of all rows, if it is given instead of a column."""
        return getattr(self, "value", None)

    def __post_init__(self) -> None:
        if (self.column is None) == (self.constant is None):
            raise ValueError('write column = "...", or value = ... for all rows')


class Text(Cell):
    """Text. values: what to take for what the column holds; other: for everything else."""

    value: str | None = None
    values: dict[str, str] = {}
    other: str | None = None


class Count(Cell):
    """A whole number from 0."""

    value: Annotated[int, Meta(ge=0)] | None = None


class Total(Count):
    """Tokens delivered, and how they were counted."""

    source: CountSource = "usage"


class Time(Cell, kw_only=True):
    """A stamp, or a duration `since` another one."""

    unit: Unit
    value: int | float | str | None = None
    since: str | None = None
    zone: Literal["UTC"] | None = None


class Counts(Cell):
    """A list of whole numbers from 1."""


class Times(Cell, kw_only=True):
    """A list of stamps, or of durations since a stamp."""

    unit: Unit
    since: str | None = None
    zone: Literal["UTC"] | None = None


class Gaps(Cell, kw_only=True):
    """A list of durations, each since the one before; the first since that stamp."""

    unit: DurationUnit
    since: str = "first_token"


class Duration(Cell, kw_only=True):
    """A number of the tool's own; formula: how it came by it."""

    unit: DurationUnit
    formula: str | None = None


Timed = Time | Times | Gaps | Duration


def since_of(cell: Cell) -> str | None:
    """The time that a cell counts from; None if it is no duration."""
    since: str | None = getattr(cell, "since", None)
    return since


class Clock(_Strict):
    """The clock of the stamps; without an id each file has its own."""

    kind: Literal["wall", "monotonic"]
    id: Annotated[str, Meta(min_length=1)] | None = None


class Columns(_Strict):
    """What the columns mean."""

    request_id: Text | None = None
    trace: Text | None = None
    status: Text | None = None
    error_kind: Text | None = None
    finish_reason: Text | None = None
    deployment: Text | None = None
    model: Text | None = None
    tenant: Text | None = None
    slo_class: Text | None = None
    prefill_worker: Text | None = None
    decode_worker: Text | None = None
    attempt: Count | None = None
    choice: Count | None = None
    prompt_tokens: Count | None = None
    cached_prompt_tokens: Count | None = None
    requested_output_tokens: Count | None = None
    output_tokens: Total | None = None
    kv_bytes: Count | None = None
    last_prefill_token: Count | None = None
    planned: Time | None = None
    sent: Time | None = None
    received: Time | None = None
    arrival: Time | None = None
    end: Time | None = None
    first_answer: Time | None = None
    # of rows that are requests
    first_token: Time | None = None
    last_token: Time | None = None
    token_times: Times | None = None
    gaps: Gaps | None = None
    token_counts: Counts | None = None
    # of rows that are tokens
    time: Time | None = None
    index: Count | None = None
    tokens: Count | None = None
    event: Text | None = None


class Map(_Strict):
    """What a table holds. missing: what stands for no value, in any column."""

    rows: Literal["request", "token"]
    vantage: Vantage
    columns: Columns
    clock: Clock | None = None
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = ","
    missing: Sentinels = ()
    ids: dict[str, Text] = {}
    labels: dict[str, Text] = {}
    reported: dict[str, Duration] = {}

    def cells(self) -> Iterator[tuple[str, str, Cell]]:
        """Every value that is mapped: part of the map, what it is, and where it is found."""
        for name in Columns.__struct_fields__:
            if (cell := getattr(self.columns, name)) is not None:
                yield "columns", name, cell
        for part in ("ids", "labels", "reported"):
            yield from ((part, name, cell) for name, cell in getattr(self, part).items())

    @property
    def total_source(self) -> str:
        """How the tokens of whole streams were counted."""
        total = self.columns.output_tokens
        return "usage" if total is None else total.source

    @property
    def stamps(self) -> list[str]:
        """Columns whose times stand for themselves."""
        return [
            name
            for _, name, cell in self.cells()
            if isinstance(cell, Time | Times) and cell.since is None
        ]

    @property
    def own_origin(self) -> str | None:
        """The origin of every request's own clock, if no column holds a stamp."""
        names = sorted({since for _, _, cell in self.cells() if (since := since_of(cell))})
        unmapped = [name for name in names if getattr(self.columns, name, None) is None]
        return unmapped[0] if unmapped and not self.stamps else None

    @property
    def holds_tokens(self) -> bool:
        """Whether anything says when tokens came; else only arrivals and lengths are known."""
        found = (getattr(self.columns, name) for name in (*OF_REQUEST_ROWS, "time", "end"))
        return any(cell is not None for cell in found) or bool(self.reported)
