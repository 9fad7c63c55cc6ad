import json
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.outer_values import outer_values
from tokengap.adapters.shared.parallel_arrays import Entry, Requests, requests

NS = 10**9
ENTRY: dict[str, Any] = {
    "input_lens": 1, "output_lens": 3, "ttfts": 0.5, "itls": [0.25, 0.125], "errors": "",
}  # fmt: skip


def arrays(*entries: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [entry[name] for entry in entries] for name in entries[0]}


def read(found: dict[str, Any]) -> tuple[Requests, dict[int, LineError]]:
    refused: dict[int, LineError] = {}
    return requests(outer_values(json.dumps(found).encode()), "ask", refused.__setitem__), refused


seconds = st.floats(0, 100, exclude_min=True)
gaps = st.lists(st.floats(-1, 100), max_size=5)
request: st.SearchStrategy[tuple[float, list[float]]] = st.one_of(
    st.tuples(seconds, gaps), st.just((0, [])), st.just((-1, []))
)
entries: st.SearchStrategy[list[tuple[float, list[float]]]] = st.lists(request)


@given(entries)
def test_event_times_are_running_sums_of_rounded_durations(
    found: list[tuple[float, list[float]]],
) -> None:
    made = [ENTRY | {"ttfts": ttft, "itls": itls} for ttft, itls in found]
    result, refused = read(arrays(*made) if made else {name: [] for name in ENTRY})
    times = result.event_times_ns().tolist()
    assert not refused
    for (ttft, itls), (begin, end) in zip(found, pairwise(result.offsets), strict=True):
        steps = [round(ttft * NS), *(round(gap * NS) for gap in itls)]
        assert times[begin:end] == (list(accumulate(steps)) if ttft > 0 else [])


BAD: dict[str, list[Any]] = {
    "ttfts": [-0.5, 0, None, "x", True, 1e300],
    "itls": [[None], ["x"], [1e300], 0.5],
    "input_lens": [-1, 1.5, None],
    "output_lens": [-1, 2**31],
    "errors": [None, 1],
    "e2els": [1e300, "x"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_a_bad_entry_is_refused_and_those_beside_it_are_kept(name: str, value: object) -> None:
    good = ENTRY | {"e2els": 1.0}
    found, refused = read(arrays(good, good | {name: value}, good))
    assert found.rows.tolist() == [0, 2]
    assert (found.entries, found.sizes.tolist()) == (3, [2, 2])
    ((row, error),) = refused.items()
    assert (row, (error.field or "").split("[")[0]) == (1, name)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400])
@pytest.mark.parametrize("name", ["ttfts", "itls", "input_lens"])
def test_a_number_too_large_for_any_type_costs_its_entry_alone(name: str, number: str) -> None:
    text = json.dumps(arrays(ENTRY, ENTRY | {name: ["*"] if name == "itls" else "*"}))
    refused: dict[int, LineError] = {}
    values = outer_values(text.replace('"*"', number).encode())
    assert requests(values, "ask", refused.__setitem__).rows.tolist() == [0]
    assert list(refused) == [1]


def test_missing_arrays_are_all_named() -> None:
    with pytest.raises(LineError, match=r"ttfts, itls missing.*; ask"):
        read({name: [] for name in ENTRY if name not in ("ttfts", "itls")})


@pytest.mark.parametrize("value", [None, {}, "x", 1])
def test_an_array_that_is_none_is_named(value: object) -> None:
    with pytest.raises(LineError, match="itls: an array with one entry per request"):
        read(arrays(ENTRY) | {"itls": value})


def test_a_run_may_have_no_request() -> None:
    found, refused = read({name: [] for name in ENTRY})
    assert (found.entries, found.event_times_ns().tolist(), refused) == (0, [], {})


def test_an_array_may_be_optional() -> None:
    assert read(arrays(ENTRY))[0].e2els_s.tolist() == [0.0]
    assert Entry(**ENTRY).e2els == 0
