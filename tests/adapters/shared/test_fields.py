from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec import Meta, inspect

from tokengap.adapters.shared.fields import Fields, Layout, joined
from tokengap.adapters.shared.lines import Int64
from tokengap.adapters.shared.openai import Count


class Inner(msgspec.Struct):
    size: Count | None = None


class Outer(msgspec.Struct):
    name: str
    tokens: Count | None = None
    code: Int64 | None = None
    s: float | None = None
    flag: bool | None = None
    inner: Inner | None = None
    free: int | None = None
    above_0: Annotated[int, Meta(ge=0)] | None = None
    texts: list[str] = []
    anything: Any = None


class More(Outer):
    further: int = 0


LAYOUT = Layout(inspect.type_info(Outer))
FULL = Outer(
    "a", 2**31 - 1, -(2**63), 0.5, flag=True, inner=Inner(3), free=2**70, texts=["t"], anything=1
)
EMPTY = Outer("b")


def lists(fields: Fields) -> dict[str, list[Any]]:
    return {name: array.to_pylist() for name, array in fields.arrays.items()}


def test_each_type_has_its_own_array() -> None:
    fields = LAYOUT.fields([FULL, EMPTY])
    assert lists(fields) == {
        "name": ["a", "b"],
        "tokens": [2**31 - 1, None],
        "code": [-(2**63), None],
        "s": [0.5, None],
        "flag": [True, None],
    }
    kinds = [array.type for array in fields.arrays.values()]
    assert kinds == [pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()]


def test_integers_without_bounds_and_anything_else_stay_as_they_are() -> None:
    others = LAYOUT.fields([FULL, EMPTY]).others
    assert {name: list(values) for name, values in others.items()} == {
        "free": [2**70, None],
        "above_0": [None, None],
        "texts": [["t"], []],
        "anything": [1, None],
    }


def test_a_part_says_where_it_is_there() -> None:
    for structs, there, sizes in (
        ([FULL, EMPTY], [True, False], [3, None]),
        ([EMPTY, EMPTY], [False, False], [None, None]),
        ([FULL, Outer("c", inner=Inner())], [True, True], [3, None]),
    ):
        part = LAYOUT.fields(structs).parts["inner"]
        assert part.there.to_pylist() == there
        assert lists(part) == {"size": sizes}


def test_a_kind_of_the_type_may_have_more_fields() -> None:
    fields = LAYOUT.fields([More("m", tokens=1), EMPTY])
    assert lists(fields)["tokens"] == [1, None]
    assert "further" not in {*fields.arrays, *fields.others}


def test_fields_one_after_another() -> None:
    whole = LAYOUT.fields([FULL, EMPTY, FULL])
    parts = joined([LAYOUT.fields([FULL]), LAYOUT.fields([]), LAYOUT.fields([EMPTY, FULL])])
    assert lists(parts) == lists(whole)
    assert lists(parts.parts["inner"]) == lists(whole.parts["inner"])
    assert parts.there.to_pylist() == [True, True, True]
    assert list(parts.others["texts"]) == [["t"], [], ["t"]]
