"""Files of spans: export requests, one a line or one document, or spans as the SDK prints them.

A collector writes one request a line, and such a file is read line by line. A request written over
many lines is one document, which is held in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice, repeat
from typing import Final

from tokengap.adapters.formats.otlp.spans import (
    RawSpan,
    Request,
    SdkSpan,
    Span,
    sdk_span_of,
    span_of,
)
from tokengap.adapters.formats.otlp.values import Attributes
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.places import number_of
from tokengap.adapters.shared.record_files import read_records
from tokengap.adapters.shared.records import Records
from tokengap.adapters.source import Line, Source

EXPECTED: Final = (
    "OTLP/JSON, one export request a line or for the whole file, or spans as `span.to_json()` "
    "gives them"
)

_REQUESTS: Final = Records(Request)
_SDK_SPANS: Final = Records(SdkSpan)

Found = tuple[Line | int, Span]
"""A span, and the line it is on or its index in a document."""


@dataclass(frozen=True)
class SpanFile:
    """One of the files of a call: its position among them, and the run its requests belong to."""

    source: Source
    number: int
    trace: str
    intake: Intake

    @cached_property
    def id(self) -> str:
        """The file as rows name it."""
        return self.intake.source_id(self.source)

    def groups(self) -> Iterator["Group | Printed"]:
        """Yield all spans, each still to be checked; lines that hold none are rejected.

        InputError if the file is no JSON.
        """
        indexes = count()
        for record, data in read_records(self.source, EXPECTED):
            try:
                if b'"resourceSpans"' in data:
                    yield from self._exported(_REQUESTS.decode(data), record, indexes)
                else:
                    place = next(indexes) if isinstance(record, int) else record
                    yield Printed(self, place, _SDK_SPANS.decode(data))
            except LineError as error:
                self.reject(record, error)

    def reject(self, record: Line | int, error: LineError) -> None:
        """Quarantine a line, or what is under that number."""
        self.intake.reject(self.source, record, error.reason, error.field, error.value)

    def _exported(
        self, request: Request, record: Line | int, indexes: Iterator[int]
    ) -> Iterator["Group"]:
        """Spans of a request, under its line or under their index in the document."""
        places = indexes if isinstance(record, int) else repeat(record)
        for resource in request.resourceSpans:
            attributes = resource.resource.attributes if resource.resource else None
            process = Attributes.of(attributes, "resource.attributes")
            for group in resource.scopeSpans:
                scope = group.scope.name if group.scope else ""
                yield Group(
                    self, scope, process, group.spans, list(islice(places, len(group.spans)))
                )


@dataclass(frozen=True, slots=True)
class Group:
    """Spans of one process and one library that were exported together, and where each is.

    scope: the library; empty where the file does not name it.
    """

    file: SpanFile
    scope: str
    process: Attributes
    raws: list[RawSpan]
    places: list[Line | int]

    @property
    def size_bytes(self) -> int:
        """Of the line that they are on; 0 in a document, which is in memory anyway."""
        first = self.places[0] if self.places else 0
        return 0 if isinstance(first, int) else len(first.data)

    def spans(self) -> Iterator[Found]:
        """Yield every span that can be used; others are rejected."""
        for raw, place in zip(self.raws, self.places, strict=True):
            try:
                found = span_of(raw, self.scope, self.process, self.file.number, number_of(place))
            except LineError as error:
                self.file.reject(place, error)
            else:
                yield place, found


@dataclass(frozen=True, slots=True)
class Printed:
    """A span as the SDK prints it, and where."""

    file: SpanFile
    place: Line | int
    raw: SdkSpan

    def spans(self) -> Iterator[Found]:
        """Yield the span if it can be used; else it is rejected."""
        try:
            yield self.place, sdk_span_of(self.raw, self.file.number, number_of(self.place))
        except LineError as error:
            self.file.reject(self.place, error)
