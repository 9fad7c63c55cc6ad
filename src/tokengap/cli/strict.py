"""`--strict`: anything that limits the trust in the data is unusable input."""

from pathlib import Path

from tokengap.errors import InputError
from tokengap.findings.audit import rows
from tokengap.library import load, read_catalogue, refresh
from tokengap.schema import NOTES
from tokengap.store.connect import Declared, Tables, bind, connect
from tokengap.units import format_count

QUALITY = "quality"


def require_quality(tables: Tables, declared: Declared, scratch: Path) -> None:
    """InputError that lists every note, if there is one; nothing is printed or kept then."""
    catalogue = read_catalogue()
    with connect(declared, scratch) as con:
        load(con, catalogue, QUALITY)
        bind(con, tables, declared)
        refresh(con, catalogue, QUALITY)
        notes = rows(con, f"FROM {QUALITY}")
    if notes:
        listed = "\n  ".join(
            f"{row['note']}: {format_count(row['streams'])}, such as {row['example']}"
            f" ({NOTES.get(row['note'], 'a note of another version')})"
            for row in notes
        )
        raise InputError(f"--strict: the data is not beyond doubt\n  {listed}")
