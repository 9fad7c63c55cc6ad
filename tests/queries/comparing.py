"""Comparing what DuckDB gives with what the oracle says."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from tests.queries.given import Row


def same(found: object, expected: object) -> bool:
    """Equal; a DOUBLE stands for an exact number to one part in 1e12."""
    if isinstance(expected, Fraction) or isinstance(found, float):
        if found is None or expected is None:
            return found is expected
        return found == pytest.approx(float(expected), rel=1e-12, abs=1e-12)  # type: ignore[arg-type]
    return found == expected


def differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that differ, as (found, expected); the columns must be the same."""
    assert found.keys() == expected.keys()
    return {
        name: (found[name], expected[name])
        for name in expected
        if not same(found[name], expected[name])
    }


def assert_same_rows(found: list[Row], expected: list[Row]) -> None:
    """The same rows, in the same order."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert differences(one, other) == {}
