"""Export requests as a collector writes them, from few words."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from tests.adapters.reading import Reading, read_lines
from tokengap.adapters.formats.otlp.adapter import Otlp
from tokengap.adapters.interface import Intake
from tokengap.adapters.source import Source
from tokengap.schema import STREAMS

MS: Final = 1_000_000
T0: Final = 1_764_412_800_000_000_000

Record = dict[str, Any]


def value(plain: object) -> Record:
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case float():
            return {"doubleValue": plain}
        case list():
            return {"arrayValue": {"values": [value(item) for item in plain]}}
        case _:
            return {"stringValue": plain}


def attributes(plain: Mapping[str, object]) -> list[Record]:
    return [{"key": key, "value": value(each)} for key, each in plain.items()]


def span(
    name: str,
    start_ms: float,
    end_ms: float,
    number: int,
    parent: int | None = None,
    trace: int = 1,
    events: Iterable[tuple[str, float]] = (),
    plain: Mapping[str, object] | None = None,
    **raw: object,
) -> Record:
    """Ids are numbers, times are ms after T0; `raw` replaces what is written of them."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(at(start_ms)),
        "endTimeUnixNano": str(at(end_ms)),
        "attributes": attributes(plain or {}),
        "events": [{"name": each, "timeUnixNano": str(at(t_ms))} for each, t_ms in events],
        "status": {},
    } | raw


def at(ms: float) -> int:
    return T0 + round(ms * MS)


def request(scope: str, spans: Iterable[Record], **process: object) -> Record:
    """One export request with spans of one library in one process."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(process)},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def read(folder: Path, *lines: object) -> Reading:
    return read_lines(Otlp(), folder, lines)


def read_files(paths: Iterable[Path], trace: str | None = None) -> Reading:
    """All files in one call, as a user names them."""
    sources = [Source(str(path), path) for path in paths]
    intake = Intake(trace or sources[0].stem, "otlp")
    table = pa.Table.from_batches(list(Otlp().read(sources, intake)), STREAMS)
    return Reading(table.to_pylist(), intake)


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
