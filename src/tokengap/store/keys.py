"""The key of `streams` is unique: the check, and what is said when it is not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter
from tokengap.adapters.source import short_digest
from tokengap.errors import KeyCollisionError
from tokengap.schema import STREAM_KEY
from tokengap.store.connect import MEMORY_LIMIT
from tokengap.store.places import asking, open_to
from tokengap.store.records import Part, uris
from tokengap.store.sql import parquet_scan

_KEY: Final = ", ".join(STREAM_KEY)

# Hashes of 8 bytes say quickly, and in little memory, that no key comes twice; only keys whose
# hashes meet are compared themselves.
_SHARED_KEY: Final = f"""
WITH suspects AS MATERIALIZED (
    SELECT hash_of_key FROM fresh GROUP BY hash_of_key HAVING count(*) > 1
    UNION ALL
    SELECT hash_of_key FROM standing WHERE hash_of_key IN (SELECT hash_of_key FROM fresh)
)
SELECT {_KEY}
FROM (FROM fresh UNION ALL FROM standing)
WHERE hash_of_key IN (FROM suspects)
GROUP BY ALL
HAVING count(*) > 1 AND (sum(format_bit) <> bit_or(format_bit) OR min(family) <> max(family))
ORDER BY ALL
LIMIT 1
"""


def superseding(
    parts: Iterable[Part], adapters: Sequence[Adapter] = ADAPTERS
) -> list[tuple[str, str]]:
    """Pairs (lesser, finer) of formats among the parts: the finer one's rows stand for both."""
    present = {part.provenance.adapter for part in parts}
    return [
        (lesser, finer.name)
        for finer in adapters
        for lesser in finer.supersedes
        if {lesser, finer.name} <= present
    ]


def check_unique(
    fresh: Sequence[Part],
    scratch: Path,
    *,
    standing: Sequence[Part] = (),
    adapters: Sequence[Adapter] = ADAPTERS,
) -> None:
    """KeyCollisionError if two rows of `fresh`, or one of them and one of `standing`, share a key.

    Rows of two formats of which one supersedes the other may share it, once each. Only key
    columns are read; what does not fit into memory goes to `scratch`.
    """
    if not fresh:
        return
    parts = [*fresh, *standing]
    families = _families(parts, superseding(parts, adapters))
    with (
        asking(),
        duckdb.connect(
            config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(scratch)}
        ) as con,
    ):
        open_to(con, uris(parts))
        con.execute(f"CREATE VIEW fresh AS {_rows(fresh, families)}")
        none = "FROM fresh WHERE false"
        con.execute(f"CREATE VIEW standing AS {_rows(standing, families) or none}")
        key = con.execute(_SHARED_KEY).fetchone()
        if key is not None:
            raise _collision(con, key, parts)


def _families(
    parts: Iterable[Part], pairs: Iterable[tuple[str, str]]
) -> dict[str, tuple[int, int]]:
    """Of each format: a bit of its own, and the number of its superseding family."""
    names = sorted({part.provenance.adapter for part in parts})
    family = {name: number for number, name in enumerate(names)}
    for lesser, finer in pairs:
        old, new = family[lesser], family[finer]
        family = {name: new if number == old else number for name, number in family.items()}
    return {name: (1 << number, family[name]) for number, name in enumerate(names)}


def _rows(parts: Sequence[Part], families: Mapping[str, tuple[int, int]]) -> str:
    """SQL for the parts' keys; empty without parts."""
    return " UNION ALL ".join(_rows_by_format(parts, families))


def _rows_by_format(
    parts: Sequence[Part], families: Mapping[str, tuple[int, int]]
) -> Iterator[str]:
    for name, (bit, family) in families.items():
        files = uris(part for part in parts if part.provenance.adapter == name)
        if files:
            yield (
                f"SELECT {_KEY}, hash({_KEY}) AS hash_of_key, {bit} AS format_bit,"
                f" {family} AS family FROM {parquet_scan(files)}"
            )


def _collision(
    con: duckdb.DuckDBPyConnection, key: Sequence[object], parts: Sequence[Part]
) -> KeyCollisionError:
    same = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in STREAM_KEY)
    scan = parquet_scan(uris(parts))
    rows = con.execute(f"SELECT source FROM {scan} WHERE {same} ORDER BY 1 LIMIT 2", key).fetchall()
    names = {
        short_digest(file.sha256): file.name for part in parts for file in part.provenance.files
    }
    first, second = (_place(source, names) for (source,) in rows)
    shown = ", ".join(f"{name} {value}" for name, value in zip(STREAM_KEY, key, strict=True))
    return KeyCollisionError(
        f"{first} and {second} hold the same stream ({shown}). If they are two runs, load one of "
        "them in a call of its own with --trace NAME; if they are pieces of one log, give them "
        "in one call; else drop one"
    )


def _place(source: str, names: Mapping[str, str]) -> str:
    """`file:line` of a row's `source` column."""
    _, digest, line = source.split(":", 2)
    return f"{names.get(digest, digest)}:{line}"
