"""Values as SQL literals, for the places where DuckDB takes no prepared parameter."""

import re
from collections.abc import Mapping, Sequence


def literal(value: object) -> str:
    """The value as a DuckDB literal: NULL, numbers, text, lists and structs of these."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise TypeError(f"no SQL literal for {type(value).__name__}")


def parquet_scan(uris: Sequence[str]) -> str:
    """The table function that reads exactly these Parquet files.

    DuckDB would take `[`, `*` and `?` in a path for a pattern and might read a neighbour's file,
    and a folder called `trace=x` for a column.
    """
    return f"read_parquet({exactly(uris)}, hive_partitioning = false)"


def exactly(uris: Sequence[str]) -> str:
    """A list of files for a table function that would take their names for patterns."""
    return literal([re.sub(r"[\[*?]", r"[\g<0>]", uri) for uri in uris])
