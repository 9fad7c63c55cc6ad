"""The quick way to decode a record and the slow one give the same, or refuse the same."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokengap.adapters.shared.keys import Shapes
from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.records import Records


class Inner(msgspec.Struct):
    t_ns: int | None = None
    values: list[float] = []


class Shape(msgspec.Struct):
    name: str | None = None
    inner: Inner | None = None
    several: list[Inner] = []
    any: Any = None


READ = {"name", "inner", "several", "any", "t_ns", "values"}

Pairs = list[tuple[str, Any]]
"""A JSON object as it is written, keys and values."""

inner_pairs: st.SearchStrategy[Pairs] = st.lists(
    st.one_of(
        st.tuples(st.just("t_ns"), st.integers(0, 10**18)),
        st.tuples(st.just("values"), st.lists(st.floats(0, 9), max_size=2)),
        st.tuples(st.sampled_from(["x1", "x2", "id"]), st.integers(0, 9) | st.just("f00d")),
    ),
    max_size=4,
)
outer_pairs: st.SearchStrategy[Pairs] = st.lists(
    st.one_of(
        st.tuples(st.just("name"), st.text(max_size=4)),
        st.tuples(st.just("inner"), inner_pairs),
        st.tuples(st.just("several"), st.lists(inner_pairs, min_size=1, max_size=2)),
        st.tuples(st.sampled_from(["x1", "x2", "other"]), inner_pairs | st.text(max_size=4)),
    ),
    max_size=6,
)


def written(value: object) -> str:
    """A list of pairs as an object, with every key that it has."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        pairs = ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value)
        return f"{{{pairs}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value)


def read_twice(pairs: Pairs) -> bool:
    """By the definition: a key that is read stands twice in an object that is read."""
    keys = [key for key, _ in pairs if key in READ]
    parts = [value for key, value in pairs if key == "inner"]
    parts += [part for key, value in pairs if key == "several" for part in value]
    return len(set(keys)) < len(keys) or any(map(read_twice, parts))


@given(st.lists(outer_pairs, max_size=5))
@example([[("name", "a"), ("name", "a")]])
@example([[("name", "a")], [("name", "a"), ("name", "b")]])
@example([[("inner", [("t_ns", 1), ("x1", 2), ("t_ns", 3)])]])
@example([[("x1", [("t_ns", 1), ("t_ns", 3)]), ("x1", "a")]])
def test_a_key_that_is_read_may_not_stand_twice_and_others_may(records: list[Pairs]) -> None:
    decoder = Records(Shape)
    for pairs in records:
        data = (written(pairs) if pairs else "{}").encode()
        # Empty lists of pairs are written as lists, which `Inner` is not.
        ok = not any(key == "inner" and not value for key, value in pairs)
        ok = ok and not any([] in value for key, value in pairs if key == "several")
        if ok and not read_twice(pairs):
            assert decoder.decode(data) == msgspec.json.decode(data, type=Shape)
        else:
            with pytest.raises(LineError):
                decoder.decode(data)


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b'{"name":"a","name":"a"}', "name"),
        (rb'{"name":"a","n\u0061me":"b"}', "name"),
        (b'{"inner":{"t_ns":1,"t_ns":2}}', "t_ns"),
        (b'{"several":[{"t_ns":1},{"values":[],"values":[1.5]}]}', "values"),
        (b'{"any":{"deep":[{"k":1,"k":2}]}}', "k"),
    ],
)
def test_the_repeated_key_is_named(data: bytes, key: str) -> None:
    with pytest.raises(LineError) as caught:
        Records(Shape).decode(data)
    assert (caught.value.reason, caught.value.field) == (f'key "{key}" appears twice', key)


@pytest.mark.parametrize(
    "data",
    [
        b'{"name":"a","x":1,"x":2}',
        b'{"x":{"name":1,"name":2},"name":"a"}',
        b'{"inner":{"x":1,"x":2},"name":"a"}',
        b'{"name":"a","x":1e999}',
    ],
)
def test_what_is_not_read_does_no_harm(data: bytes) -> None:
    decoder = Records(Shape)
    assert [decoder.decode(data).name for _ in range(3)] == ["a", "a", "a"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"x":"\xff"}', "not JSON"),
        (b'{"name":"a"', "not JSON"),
        (b'{"inner":{"t_ns":1.5}}', "inner.t_ns: Expected `int"),
        (b'{"inner":{"values":[1e999]}}', "not JSON"),
        (b'{"name":5,"name":"a"}', 'key "name" appears twice'),
        (b"[]", "not a JSON object"),
        (b'{"name":NaN}', "not JSON"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, reason: str) -> None:
    decoder = Records(Shape)
    decoder.decode(b'{"name":"a"}')
    with pytest.raises(LineError) as caught:
        decoder.decode(data)
    assert caught.value.reason.startswith(reason)


def test_numbers_that_are_not_finite_count_as_null_on_request() -> None:
    decoder = Records(Shape, non_finite=True)
    found = decoder.decode(b'{"x":NaN,"name":"NaN","inner":{"t_ns":-Infinity}}')
    assert (found.name, found.inner) == ("NaN", Inner(t_ns=None))
    with pytest.raises(LineError, match="not JSON"):
        decoder.decode(b'{"x":NaN')


def test_what_is_kept_undecoded_is_not_read_yet() -> None:
    class Kept(msgspec.Struct):
        body: msgspec.Raw

    data = b'{"body":{"k":1,"k":2}}'
    assert bytes(Records(Kept).decode(data).body) == b'{"k":1,"k":2}'


SHAPES = [
    b'{"a1":{"t":5},"s":[1.5,2e-3],"id":"f00d-77"}',
    b'{"a1":{"t":123},"s":[],"id":""}',
]


def test_records_that_differ_in_numbers_and_ids_are_looked_at_once() -> None:
    shapes = Shapes()
    assert all(map(shapes.repeat_no_key, SHAPES))
    assert len(shapes._known) == 1


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":2}',
        b'{"t1":1,"t2":2}',  # not told apart without their numbers: not sure
        b'{"a":[{"b":1,"b":2}]}',
        rb'{"a":"\"","a":2}',
        rb'{"k":"\b","a":1,"k":2}',
    ],
)
def test_where_keys_may_be_the_same_it_is_not_sure(data: bytes) -> None:
    shapes = Shapes()
    assert not any(shapes.repeat_no_key(data) for _ in range(3))


@pytest.mark.parametrize("data", [b'{"p":{"x":1},"q":{"x":2}}', b'{"s":[{"x":1},{"x":2}],"t":1}'])
def test_the_same_key_in_two_objects_is_no_repetition(data: bytes) -> None:
    assert Shapes().repeat_no_key(data)


def test_a_log_of_texts_is_soon_left_alone() -> None:
    shapes = Shapes()
    texts = [f'{{"z":"{"xyzuvw"[n % 6] * n}"}}'.encode() for n in range(1, 70)]
    asked = [shapes.repeat_no_key(text) for text in texts]
    assert asked == [True] * 64 + [False] * 5
    assert not shapes.repeat_no_key(texts[0])
