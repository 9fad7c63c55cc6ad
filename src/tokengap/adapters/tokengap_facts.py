"""What the lines of one stream state besides its tokens, and what follows for its status."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import asdict

from tokengap.adapters.tokengap_line import ENDS, FACTS, Record
from tokengap.schema import ORIGINS

_COLLECTED: Final = frozenset({"ids", "labels", "marks", "stages", "reported"})
_COMBINED: Final = frozenset({
    "times_ns", "token_counts", "granularity", "output_tokens", "token_count_source",
    "last_prefill_token", "handoff_source", "streamed",
})  # fmt: skip
_COPIED: Final = sorted(FACTS - _COLLECTED - _COMBINED)
_STATED: Final = (
    *_COPIED, "total_tokens", "total_source", "last_prefill_token", "handoff_source", "streamed",
)  # fmt: skip


def says_how_it_ended(record: Record) -> bool:
    """Whether the line ends its stream, or states its status."""
    kinds = [record.kind, *(mark.kind for mark in record.marks or ())]
    return record.status is not None or any(kind == "finish" or kind in ENDS for kind in kinds)


class Facts:
    """Collects lines in file order; where two differ the first stands, noted `fact_conflict`."""

    def __init__(self) -> None:
        self.notes: set[str] = set()
        self._stated: dict[str, Any] = {}
        self._texts: dict[str, dict[str, str]] = {"ids": {}, "labels": {}}
        self._lists: dict[str, list[dict[str, Any]]] = {"stages": [], "reported": []}
        self._marks: list[tuple[str, int]] = []
        self._whole: Record | None = None

    def add(self, record: Record, *, of_all_choices: bool) -> None:
        """Take in a line; `of_all_choices` if it speaks of several streams at once."""
        for name in _COPIED:
            self.state(name, getattr(record, name))
        if record.is_stream:
            self._whole = record
        elif record.kind in ORIGINS:
            self.state(f"{record.kind}_ns", record.t_ns)
        elif record.kind is not None and record.t_ns is not None and not record.carries_tokens:
            self._marks.append((record.kind, record.t_ns))
        self._marks.extend((mark.kind, mark.t_ns) for mark in record.marks or ())
        self._count(record, of_all_choices)
        self._hand_off(record)
        self.state("streamed", record.streamed)
        self._collect(record)

    def state(self, name: str, value: object) -> None:
        """A fact by name; None states nothing."""
        if value is not None and self._stated.setdefault(name, value) != value:
            self.notes.add("fact_conflict")

    def _count(self, record: Record, of_all_choices: bool) -> None:
        if record.output_tokens is None:
            return
        if of_all_choices:
            self.notes.add("total_of_all_choices")
            return
        self.state("total_tokens", record.output_tokens)
        self.state("total_source", record.token_count_source or "usage")

    def _hand_off(self, record: Record) -> None:
        if self._stated.get("handoff_source") != "none":
            self.state("last_prefill_token", record.last_prefill_token)
        if record.last_prefill_token is not None:
            self.state("handoff_source", "log")
        elif record.handoff_source == "none":
            self.state("handoff_source", "none")

    def _collect(self, record: Record) -> None:
        for field, texts in self._texts.items():
            for name, text in (getattr(record, field) or {}).items():
                if texts.setdefault(name, text) != text:
                    self.notes.add("fact_conflict")
        for field, items in self._lists.items():
            items.extend(
                row for item in getattr(record, field) or () if (row := asdict(item)) not in items
            )

    @property
    def observed(self) -> bool:
        """False if the log holds no delivery times of this stream."""
        return self._whole is None or self._whole.times_ns is not None

    def columns(self, *, clock: str, delivered: bool, ends_logged: bool) -> dict[str, Any]:
        """Values of a `rows.Stream`, under its names."""
        marks = sorted(set(self._marks), key=lambda mark: (mark[1], mark[0]))
        if len(marks) < len(self._marks):
            self.notes.add("duplicate_dropped")
        ends = [t_ns for kind, t_ns in marks if kind in ENDS]
        status = self._status([kind for kind, _ in marks], delivered, ends_logged)
        stages = [_stage(stage, clock) for stage in self._lists["stages"]]
        return {
            "stream_close_ns": ends[-1] if ends else None,
            **{name: self._stated[name] for name in _STATED if name in self._stated},
            **self._texts,
            "clock": clock, "status": status, "marks": marks, "stages": stages or None,
            "reported": self._lists["reported"] or None,
        }  # fmt: skip

    def _status(self, kinds: list[str], delivered: bool, ends_logged: bool) -> str:
        """How the stream ended: as stated, else by its first end mark, of which an error wins."""
        statuses = [ENDS[kind] for kind in kinds if kind in ENDS]
        found = "failed" if "failed" in statuses else next(iter(statuses), None)
        if found is None and "finish" in kinds:
            found = "completed"
        stated: str | None = self._stated.get("status")
        if stated is not None:
            if found not in (None, stated):
                self.notes.add("fact_conflict")
            return stated
        if found is not None:
            return found
        if self._whole is not None or (delivered and not ends_logged):
            self.notes.add("end_not_seen")
            return "completed"
        return "truncated"


def _stage(stage: Mapping[str, Any], clock: str) -> dict[str, Any]:
    """The stage with its clock, and its duration where the log gives both ends."""
    start, end, duration = (stage[name] for name in ("start_ns", "end_ns", "duration_ns"))
    if duration is None and start is not None and end is not None:
        duration = end - start
    stamped = start is not None or end is not None
    named = stage["clock"] or (clock if stamped else None)
    return {**stage, "duration_ns": duration, "clock": named}
