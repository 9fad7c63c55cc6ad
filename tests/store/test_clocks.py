"""Relations of pairs of clocks, joined into bases.

Clock time minus reference time is the offset: a clock at 12 whose reference is at 10 is ahead by 2.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.errors import UsageError
from tokengap.store.clocks import CLOCK_OFFSETS, ClockOffset, Seen, clock_offsets

Interval = tuple[int, int]


def logged(id_: str, reference: str, offset_ns: int, uncertainty_ns: int | None) -> dict[str, Any]:
    return {
        "id": id_, "reference": reference, "offset_ns": offset_ns, "uncertainty_ns": uncertainty_ns,
    }  # fmt: skip


def seen(id_: str, vantage: str | None = "engine", kind: str = "monotonic", *runs: str) -> Seen:
    return Seen(id_, kind, frozenset(runs), vantage)


def apart(
    clock: str,
    other: str,
    relations: Sequence[dict[str, Any]] = (),
    clocks: Sequence[Seen] = (),
    declared: Sequence[ClockOffset] = (),
    *,
    same_clock: bool = False,
) -> Interval | None:
    """Between what `other` minus `clock` lies; None if nothing relates them."""
    table = clock_offsets(relations, clocks, declared, same_clock=same_clock)
    assert table.schema == CLOCK_OFFSETS
    rows = {row["id"]: row for row in table.to_pylist()}
    one, two = rows.get(clock), rows.get(other)
    if one is None or two is None or one["base"] != two["base"]:
        return None
    if one["fixed_base"] == two["fixed_base"]:
        ahead_ns = two["fixed_ns"] - one["fixed_ns"]
        return ahead_ns, ahead_ns
    return two["low_ns"] - one["high_ns"], two["high_ns"] - one["low_ns"]


def test_a_logged_relation_holds_both_ways() -> None:
    relations = [logged("mono", "wall", -100, 3)]  # wall shows 100 more, give or take 3
    assert apart("wall", "mono", relations) == (-103, -97)
    assert apart("mono", "wall", relations) == (97, 103)


def test_without_an_uncertainty_a_relation_bounds_nothing() -> None:
    assert apart("mono", "wall", [logged("mono", "wall", -100, None)]) is None


def test_what_nothing_relates_is_left_out() -> None:
    relations = [logged("a", "b", 5, 1), logged("c", "d", 5, 1)]
    assert apart("a", "c", relations) is None
    assert clock_offsets([], [seen("a"), seen("b")]).num_rows == 0


def test_along_a_chain_uncertainties_add_up() -> None:
    relations = [logged("a", "b", 5, 1), logged("b", "c", 7, 2)]
    assert apart("c", "a", relations) == (12 - 3, 12 + 3)


def test_of_several_chains_the_tightest_counts() -> None:
    relations = [logged("a", "c", 12, 10), logged("a", "b", 5, 1), logged("b", "c", 7, 2)]
    assert apart("c", "a", relations) == (12 - 3, 12 + 3)


@pytest.mark.parametrize("name", ["a", "z"])
def test_whatever_clocks_are_called_no_detour_widens_what_is_known(name: str) -> None:
    # Two servers are known against `m`; comparing one with `m` must not go through the other.
    relations = [logged(name, "m", 40, 1), logged("k", "m", 30, 1)]
    assert apart("m", "k", relations) == (29, 31)
    assert apart("m", name, relations) == (39, 41)
    assert apart("k", name, relations) == (8, 12)


def test_declared_offsets_are_against_the_outermost_clock() -> None:
    clocks = [seen("c", "client"), seen("g", "gateway"), seen("e"), seen("s", None)]
    declared = [ClockOffset("g", 30, 1), ClockOffset("e", -20)]
    assert apart("c", "g", [], clocks, declared) == (29, 31)
    assert apart("c", "e", [], clocks, declared) == (-20, -20)
    assert apart("g", "e", [], clocks, declared) == (-51, -49)
    assert apart("c", "s", [], clocks, declared) is None


def test_of_several_outermost_clocks_none_is_the_reference() -> None:
    clocks = [seen("c", "client"), seen("d", "client"), seen("e"), seen("f")]
    declared = [ClockOffset("e", 30), ClockOffset("f", 10)]
    assert apart("c", "e", [], clocks, declared) is None
    assert apart("f", "e", [], clocks, declared) == (20, 20)
    both = [*declared, ClockOffset("c", 1)]
    assert apart("c", "e", [], clocks, both) == (29, 29)
    assert apart("d", "e", [], clocks, both) is None


def test_a_declared_outermost_clock_is_not_the_reference() -> None:
    clocks = [seen("c", "client"), seen("e")]
    declared = [ClockOffset("c", 5), ClockOffset("e", 30)]
    assert apart("c", "e", [], clocks, declared) == (25, 25)


@pytest.mark.parametrize("name", ["vllm:abc", "vllm:", "server"])
def test_a_clock_may_be_called_by_its_beginning_or_its_run(name: str) -> None:
    clocks = [seen("c", "client"), seen("vllm:abc", "engine", "wall", "server")]
    assert apart("c", "vllm:abc", [], clocks, [ClockOffset(name, 30)]) == (30, 30)


def test_an_id_is_itself_before_it_is_the_beginning_of_another() -> None:
    clocks = [seen("c", "client"), seen("e"), seen("e:wall")]
    assert apart("c", "e", [], clocks, [ClockOffset("e", 30)]) == (30, 30)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x", "--clock x: is no clock of these logs; the clocks are: c, vllm:1, vllm:2"),
        ("vllm", "--clock vllm: is any of vllm:1, vllm:2; the clocks are: c, vllm:1, vllm:2"),
        ("run", "--clock run: is any of vllm:1, vllm:2; the clocks are: c, vllm:1, vllm:2"),
    ],
)
def test_a_name_that_is_not_one_clock_is_refused(name: str, says: str) -> None:
    engines = [seen(id_, "engine", "wall", "run") for id_ in ("vllm:2", "vllm:1")]
    with pytest.raises(UsageError) as error:
        clock_offsets([], [seen("c", "client"), *engines], [ClockOffset(name, 0)])
    assert str(error.value) == says


def test_a_log_without_clocks_says_so() -> None:
    with pytest.raises(UsageError, match="the clocks are: none"):
        clock_offsets([], [], [ClockOffset("x", 0)])


def test_processes_of_one_host_share_its_clocks() -> None:
    clocks = [
        seen("c", "client"), seen("g", "gateway"), seen("p", "engine", "wall"),
        seen("d", "engine", "wall"),
    ]  # fmt: skip
    assert apart("c", "g", [], clocks, same_clock=True) == (0, 0)
    assert apart("p", "d", [], clocks, same_clock=True) == (0, 0)
    assert apart("c", "p", [], clocks, same_clock=True) is None  # monotonic and wall
    assert apart("c", "g", [], clocks) is None


def test_two_wall_clocks_of_one_host_are_exactly_comparable() -> None:
    # Although each is known against the monotonic clock only within 50 either way.
    clocks = [seen("g", "gateway"), seen("p", "engine", "wall"), seen("d", "engine", "wall")]
    pairs = [logged("g", "g:wall", -1_000, 50)]
    assert apart("p", "d", pairs, clocks, same_clock=True) == (0, 0)
    assert apart("g", "d", pairs, clocks, same_clock=True) == (950, 1_050)
    assert apart("g", "g:wall", pairs, clocks, same_clock=True) == (950, 1_050)


def test_of_two_processes_the_tighter_pairs_count() -> None:
    clocks = [seen("c", "client"), seen("g", "gateway"), seen("e", "engine", "wall")]
    pairs = [logged("c", "c:wall", -1_000, 50), logged("g", "g:wall", -1_010, 2)]
    assert apart("c", "e", pairs, clocks, same_clock=True) == (1_008, 1_012)


def test_a_clock_of_one_request_is_nobody_elses() -> None:
    ids = ["log:request:1", "log:request:2"]
    clocks = [seen("c", "client"), *map(seen, ids)]
    for one, two in [ids, ["c", ids[0]]]:
        assert apart(one, two, [], clocks, same_clock=True) is None
    assert apart("c", ids[0], [], clocks, [ClockOffset(ids[0], 7)], same_clock=True) == (7, 7)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """What clocks show at one instant, and true statements of how far some are apart."""
    shows = draw(st.dictionaries(st.sampled_from("abcdefg"), st.integers(-1000, 1000), min_size=2))
    pairs = st.tuples(*[st.sampled_from(sorted(shows))] * 2).filter(lambda pair: pair[0] != pair[1])
    relations = []
    for id_, reference in draw(st.lists(pairs, max_size=10)):
        spread_ns = draw(st.sampled_from([0, 0, 1, 5, 50]))
        error_ns = draw(st.integers(-spread_ns, spread_ns))
        offset_ns = shows[id_] - shows[reference] + error_ns
        relations.append(logged(id_, reference, offset_ns, spread_ns))
    return shows, relations


@given(worlds())
def test_the_true_distance_lies_within(world: tuple[dict[str, int], list[dict[str, Any]]]) -> None:
    shows, relations = world
    for clock, other in product(shows, shows):
        found = apart(clock, other, relations)
        if found is not None:
            assert found[0] <= shows[other] - shows[clock] <= found[1]


@given(worlds())
def test_a_base_is_reached_by_the_tightest_chain(
    world: tuple[dict[str, int], list[dict[str, Any]]],
) -> None:
    """Floyd and Warshall, over how wide the relations are."""
    shows, relations = world
    width: dict[tuple[str, str], int] = {(clock, clock): 0 for clock in shows}
    for each in relations:
        for pair in ((each["id"], each["reference"]), (each["reference"], each["id"])):
            width[pair] = min(2 * each["uncertainty_ns"], width.get(pair, 10**9))
    for via, one, two in product(shows, shows, shows):
        if (one, via) in width and (via, two) in width:
            detour = width[one, via] + width[via, two]
            width[one, two] = min(detour, width.get((one, two), detour))
    for row in clock_offsets(relations, []).to_pylist():
        assert row["high_ns"] - row["low_ns"] == width[row["id"], row["base"]]
        assert width[row["id"], row["fixed_base"]] == 0
