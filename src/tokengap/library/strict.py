"""`--strict`: anything that limits the trust in the data is unusable input."""

from pathlib import Path

from tokengap.errors import InputError
from tokengap.library.catalogue import read_catalogue
from tokengap.library.loader import load, refresh
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
        notes = con.execute(f"SELECT note, streams, example FROM {QUALITY}").fetchall()
    if notes:
        listed = "\n  ".join(
            f"{note}: {format_count(streams)}, such as {example}"
            f" ({NOTES.get(note, 'a note of another version')})"
            for note, streams, example in notes
        )
        raise InputError(f"--strict: the data is not beyond doubt\n  {listed}")
