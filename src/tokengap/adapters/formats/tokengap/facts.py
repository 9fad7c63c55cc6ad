"""What the lines of one stream state besides its tokens, and what follows for its status."""

from collections.abc import Mapping
from typing import Any, Final

from tokengap.adapters.formats.tokengap.line import ENDS, FACTS, KINDS, NESTED, Record
from tokengap.adapters.formats.tokengap.said import Said
from tokengap.schema import ORIGINS

_TAKEN: Final = FACTS - {
    "times_ns", "token_counts", "granularity", "output_tokens", "token_count_source",
    "last_prefill_token", "handoff_source",
}  # fmt: skip
"""Fields that stand for themselves; the others are looked at together."""


END_KINDS: Final = [KINDS.index(kind) for kind in ("finish", *ENDS)]
"""Kinds that tell how a stream ended, as positions in `KINDS`."""


def says_how_it_ended(record: Record) -> bool:
    """Whether the line ends its stream, or states its status."""
    kinds = [record.kind, *(mark.kind for mark in record.marks or ())]
    return record.status is not None or any(kind == "finish" or kind in ENDS for kind in kinds)


class Facts:
    """Collects lines in file order; where two differ the first stands, noted `fact_conflict`."""

    def __init__(self) -> None:
        self.notes: set[str] = set()
        self.observed = True
        """False if the log holds no delivery times of this stream."""
        self._whole = False
        self._stated: dict[str, Any] = {}
        self._texts: dict[str, dict[str, str]] = {}
        self._lists: dict[str, list[dict[str, Any]]] = {}
        self._marks: list[tuple[str, int]] = []

    def add(self, said: Said, *, of_all_choices: bool) -> None:
        """Take in a line; `of_all_choices` if it speaks of several streams at once."""
        if said.is_stream:
            self._whole = True
            self.observed = "times_ns" in said.fields
        elif said.kind in ORIGINS:
            self.state(f"{said.kind}_ns", said.fields["t_ns"])
        elif not said.carries_tokens:
            self._marks.append((said.kind, said.fields["t_ns"]))
        for name in said.fields.keys() & _TAKEN:
            take = self._collect if name in NESTED else self.state
            take(name, said.fields[name])
        if "output_tokens" in said.fields:
            self._count(said.fields, of_all_choices)
        self._hand_off(said.fields)

    def state(self, name: str, value: object) -> None:
        """A fact by name; None states nothing."""
        if value is not None:
            self._put(self._stated, name, value)

    def _put(self, found: dict[str, Any], name: str, value: object) -> None:
        if found.setdefault(name, value) != value:
            self.notes.add("fact_conflict")

    def _collect(self, name: str, value: Any) -> None:
        if name == "marks":
            self._marks.extend((mark["kind"], mark["t_ns"]) for mark in value)
        elif name in ("stages", "reported"):
            known = self._lists.setdefault(name, [])
            known += [item for item in value if item not in known]
        else:
            texts = self._texts.setdefault(name, {})
            for key, text in value.items():
                self._put(texts, key, text)

    def _count(self, fields: Mapping[str, Any], of_all_choices: bool) -> None:
        if of_all_choices:
            self.notes.add("total_of_all_choices")
            return
        self.state("total_tokens", fields["output_tokens"])
        self.state("total_source", fields.get("token_count_source", "usage"))

    def _hand_off(self, fields: Mapping[str, Any]) -> None:
        k = fields.get("last_prefill_token")
        if self._stated.get("handoff_source") != "none":
            self.state("last_prefill_token", k)
        if k is not None:
            self.state("handoff_source", "log")
        elif fields.get("handoff_source") == "none":
            self.state("handoff_source", "none")

    def columns(self, *, clock: str, delivered: bool, ends_logged: bool) -> dict[str, Any]:
        """Values of a `rows.Stream`, under its names."""
        marks = sorted(set(self._marks), key=lambda mark: (mark[1], mark[0]))
        if len(marks) < len(self._marks):
            self.notes.add("duplicate_dropped")
        ends = [t_ns for kind, t_ns in marks if kind in ENDS]
        status = self._status([kind for kind, _ in marks], delivered, ends_logged)
        if "stages" in self._lists:
            self._lists["stages"] = [_stage(stage, clock) for stage in self._lists["stages"]]
        return {
            "stream_close_ns": ends[-1] if ends else None,
            **self._stated, **self._texts, **self._lists,
            "clock": clock, "status": status, "marks": marks,
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
        if self._whole or (delivered and not ends_logged):
            self.notes.add("end_not_seen")
            return "completed"
        return "truncated"


def _stage(stage: Mapping[str, Any], clock: str) -> dict[str, Any]:
    """The stage with its clock, and its duration where the log gives both ends."""
    start, end, duration = (stage.get(name) for name in ("start_ns", "end_ns", "duration_ns"))
    if duration is None and start is not None and end is not None:
        duration = end - start
    stamped = start is not None or end is not None
    named = stage.get("clock") or (clock if stamped else None)
    return {**stage, "duration_ns": duration, "clock": named}
