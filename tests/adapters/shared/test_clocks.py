from tokengap.adapters.shared.clocks import beside_wall


def test_the_median_pair_counts_and_nine_pairs_of_ten_lie_within_its_uncertainty() -> None:
    # Once, after a pause between the two readings, wall is ahead by 5,100. The lower of the two in
    # the middle is 100; the others lie 0, 1, 1, 2, 2, 3, 3, 4, 4 and 5,000 from it.
    ahead_ns = [97, 104, 100, 98, 5_100, 101, 103, 99, 96, 102]
    clock = beside_wall("c", "s", ahead_ns, "wall - monotonic")
    assert clock is not None
    assert (clock.id, clock.reference, clock.source) == ("c", "c:wall", "s")
    assert clock.offset_ns == -100
    assert clock.uncertainty_ns == 4
    assert clock.how == "median of 10 pairs wall - monotonic; 90 % of them lie within"


def test_of_fewer_than_ten_pairs_all_lie_within() -> None:
    # Nine of ten, rounded up: of three pairs, three.
    clock = beside_wall("c", "s", [103, 100, 5_100], "")
    assert clock is not None
    assert (clock.offset_ns, clock.uncertainty_ns) == (-103, 5_100 - 103)


def test_wall_times_keep_every_nanosecond() -> None:
    # The mean of these two would need a double and lose the last digits.
    ahead_ns = [1_795_950_464_668_103_399, 1_795_950_464_668_103_400]
    clock = beside_wall("c", "s", ahead_ns, "")
    assert clock is not None
    assert -clock.offset_ns in ahead_ns


def test_pairs_that_lie_further_apart_than_64_bits_can_say() -> None:
    clock = beside_wall("c", "s", [-(2**62), -(2**62), 2**63 - 1], "")
    assert clock is not None
    assert clock.uncertainty_ns == 2**63 - 1 + 2**62


def test_without_pairs_there_is_no_offset() -> None:
    assert beside_wall("c", "s", [], "") is None
