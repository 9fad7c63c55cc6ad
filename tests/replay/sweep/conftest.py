"""Scores are compared with those of the query library, which judges logs."""

from tests.queries.conftest import library

__all__ = ["library"]
