"""Calling one relation of the library with parameters from a command line."""

import math
from collections.abc import Sequence

from tokengap.errors import QueryError
from tokengap.library.catalogue import ROOTS, Catalogue
from tokengap.library.query import Parameter
from tokengap.slo import Objective, parse_limit, sql_parameter
from tokengap.store.sql import literal
from tokengap.units import parse_duration_ns

OBJECTIVES = "objectives"


def call(
    catalogue: Catalogue, name: str, given: Sequence[str], objectives: Sequence[Objective] = ()
) -> str:
    """The SELECT for `name`; QueryError for a parameter it lacks or a value of another type.

    given: `parameter=value` texts. objectives: limits for a query that takes them.
    """
    if name in ROOTS:
        return f"SELECT * FROM {name}"
    query = catalogue[name]
    if not query.is_table:
        raise QueryError(f"{name} is a function, not a relation; see `tokengap sql {name}`")
    known = {parameter.name: parameter for parameter in query.parameters}
    values = {}
    for text in given:
        key, equals, value = text.partition("=")
        if key not in known or not equals:
            takes = ", ".join(known) or "no parameters"
            raise QueryError(f"-p {text}: {name} takes {takes}")
        values[key] = _value(known[key], value)
    if objectives and OBJECTIVES in known:
        values.setdefault(OBJECTIVES, literal(sql_parameter(objectives)))
    elif objectives:
        raise QueryError(f"{name} takes no limits")
    arguments = ", ".join(f"{key} := {value}" for key, value in values.items())
    return f"SELECT * FROM {name}" + (f"({arguments})" if query.is_macro else "")


def takes_objectives(catalogue: Catalogue, name: str) -> bool:
    """True if limits can be given to `name`; QueryError if there is no such query."""
    if name in ROOTS:
        return False
    return OBJECTIVES in {parameter.name for parameter in catalogue[name].parameters}


def _value(parameter: Parameter, text: str) -> str:
    if parameter.name == OBJECTIVES:
        return literal(sql_parameter(parse_limit(limit) for limit in text.split(",")))
    if parameter.unit == "ns":
        return literal(parse_duration_ns(text, signed=True))
    if parameter.type == "VARCHAR":
        return literal(text)
    try:
        number = int(text) if "INT" in parameter.type else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise QueryError(f"-p {parameter.name}={text}: expected {parameter.type}")
    return literal(number)
