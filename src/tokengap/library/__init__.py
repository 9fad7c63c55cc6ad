"""The SQL library: find `queries/`, read its headers, load it into DuckDB, call it."""

from tokengap.library.catalogue import Catalogue, read_catalogue
from tokengap.library.loader import SHARED, check, comments, load, materialise, refresh
from tokengap.library.query import Column, Parameter, Query

__all__ = [
    "SHARED",
    "Catalogue",
    "Column",
    "Parameter",
    "Query",
    "check",
    "comments",
    "load",
    "materialise",
    "read_catalogue",
    "refresh",
]
