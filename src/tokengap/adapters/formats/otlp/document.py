"""Files of spans: export requests, one a line or one document, or spans as the SDK prints them.

A collector writes one request a line, and such a file is read line by line. A request written over
many lines is one document, which is held in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Final

from tokengap.adapters.formats.otlp.spans import Request, SdkSpan, Span, sdk_span_of, span_of
from tokengap.adapters.formats.otlp.values import Attributes
from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.lines import LineError
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

    def spans(self) -> Iterator[Found]:
        """Yield every span that can be used; others, and lines that hold none, are rejected.

        InputError if the file is no JSON.
        """
        indexes = count()
        for record, data in read_records(self.source, EXPECTED):
            try:
                if b'"resourceSpans"' in data:
                    yield from self._exported(_REQUESTS.decode(data), record, indexes)
                else:
                    index = next(indexes) if isinstance(record, int) else record.number
                    yield record, sdk_span_of(_SDK_SPANS.decode(data), self.number, index)
            except LineError as error:
                self.reject(record, error)

    def reject(self, record: Line | int, error: LineError) -> None:
        """Quarantine a line, or what is under that number."""
        self.intake.reject(self.source, record, error.reason, error.field, error.value)

    def _exported(
        self, request: Request, record: Line | int, indexes: Iterator[int]
    ) -> Iterator[Found]:
        """Spans of a request, under its line or under their index in the document."""
        for resource in request.resourceSpans:
            process = Attributes.of(
                resource.resource and resource.resource.attributes, "resource.attributes"
            )
            for group in resource.scopeSpans:
                scope = group.scope.name if group.scope else ""
                for raw in group.spans:
                    place = next(indexes) if isinstance(record, int) else record
                    number = place if isinstance(place, int) else place.number
                    try:
                        yield place, span_of(raw, scope, process, self.number, number)
                    except LineError as error:
                        self.reject(place, error)
