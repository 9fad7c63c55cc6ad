"""The key of `streams` is unique: the check, and what is said when it is not."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import duckdb

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Adapter
from tokengap.errors import KeyCollision
from tokengap.schema import STREAM_KEY
from tokengap.store.records import Part
from tokengap.store.sql import literal

_KEY: Final = ", ".join(STREAM_KEY)
_SAME_KEY: Final = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in STREAM_KEY)


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
    """KeyCollision if two rows of `fresh`, or one of them and one of `standing`, share a key.

    Rows of two formats of which one supersedes the other may share it, once each.
    Only key columns are read; what does not fit into memory goes to `scratch`.
    """
    if not fresh:
        return
    families = _families([*fresh, *standing], superseding([*fresh, *standing], adapters))
    with duckdb.connect(config={"temp_directory": str(scratch)}) as con:
        con.execute(f"CREATE VIEW fresh AS {_rows(fresh, families)}")
        hit = con.execute(
            f"SELECT {_KEY} FROM fresh GROUP BY ALL HAVING count(*) > 1"
            " AND (sum(bit) <> bit_or(bit) OR min(family) <> max(family)) LIMIT 1"
        ).fetchone()
        if hit is None and standing:
            con.execute(f"CREATE VIEW standing AS {_rows(standing, families)}")
            hit = con.execute(
                f"SELECT {', '.join(f'a.{name}' for name in STREAM_KEY)}"
                f" FROM fresh a JOIN standing b ON {_SAME_KEY}"
                " WHERE a.bit = b.bit OR a.family <> b.family LIMIT 1"
            ).fetchone()
        if hit is not None:
            raise _collision(con, hit, [*fresh, *standing])


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


def _rows(parts: Sequence[Part], families: dict[str, tuple[int, int]]) -> str:
    return " UNION ALL ".join(_rows_by_format(parts, families))


def _rows_by_format(parts: Sequence[Part], families: dict[str, tuple[int, int]]) -> Iterator[str]:
    for name, (bit, family) in families.items():
        files = [part.uri for part in parts if part.provenance.adapter == name]
        if files:
            yield f"SELECT {_KEY}, {bit} AS bit, {family} AS family FROM {_scan(files)}"


def _scan(files: Sequence[str]) -> str:
    """No column is taken from a folder's name, such as `trace=x`."""
    return f"read_parquet({literal(files)}, hive_partitioning = false)"


def _collision(
    con: duckdb.DuckDBPyConnection, key: Sequence[object], parts: Sequence[Part]
) -> KeyCollision:
    same = " AND ".join(f"{name} IS NOT DISTINCT FROM ?" for name in STREAM_KEY)
    scan = _scan([part.uri for part in parts])
    rows = con.execute(f"SELECT source FROM {scan} WHERE {same} LIMIT 2", key).fetchall()
    files = {file.sha256[:16]: file.name for part in parts for file in part.provenance.files}
    first, second = (_place(source, files) for (source,) in rows)
    shown = ", ".join(f"{name} {value}" for name, value in zip(STREAM_KEY, key, strict=True))
    return KeyCollision(
        f"{first} and {second} hold the same stream ({shown}). If they are two runs, load one of "
        "them in a call of its own with --trace NAME; if they are pieces of one log, give them "
        "in one call; else drop one"
    )


def _place(source: str, files: dict[str, str]) -> str:
    """`file:line` of a row's `source` column."""
    _, digest, line = source.split(":", 2)
    return f"{files.get(digest, digest)}:{line}"
