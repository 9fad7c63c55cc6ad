"""What a command answers, for a terminal and for programs."""

import json
from dataclasses import dataclass
from typing import Any

from tokengap import __version__


@dataclass(frozen=True)
class Document:
    """An answer: the fields of its JSON, the schema first, and its text."""

    record: dict[str, Any]
    text: str


def as_json(document: Document) -> str:
    """Strict JSON. A time that is no whole number of ns is a number with its fraction."""
    schema, *fields = document.record.items()
    record = dict([schema, ("tokengap", __version__), *fields])
    return json.dumps(record, indent=1, allow_nan=False) + "\n"
