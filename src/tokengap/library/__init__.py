"""The SQL library: find `queries/`, read its headers, load it into DuckDB, call it."""

from tokengap.library.catalogue import SHARED, Catalogue, read_catalogue
from tokengap.library.loader import check, comments, ensure, keep, load, refresh
from tokengap.library.query import Column, Parameter, Query

__all__ = [
    "SHARED",
    "Catalogue",
    "Column",
    "Parameter",
    "Query",
    "check",
    "comments",
    "ensure",
    "keep",
    "load",
    "read_catalogue",
    "refresh",
]
