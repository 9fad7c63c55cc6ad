from tokengap.adapters.shared.clocks import beside_wall


def test_the_median_pair_counts_and_the_farthest_bounds_it() -> None:
    # Wall is ahead by 100, 103 and once, after a pause between the two readings, by 5,100.
    clock = beside_wall("c", "s", [103, 100, 5_100], "wall - monotonic")
    assert clock is not None
    assert (clock.id, clock.reference, clock.source) == ("c", "c:wall", "s")
    assert clock.offset_ns == -103
    assert clock.uncertainty_ns == 5_100 - 103
    assert clock.how == "median of 3 pairs wall - monotonic"


def test_wall_times_keep_every_nanosecond() -> None:
    # The mean of these two would need a double and lose the last digits.
    ahead_ns = [1_795_950_464_668_103_399, 1_795_950_464_668_103_400]
    clock = beside_wall("c", "s", ahead_ns, "")
    assert clock is not None
    assert -clock.offset_ns in ahead_ns


def test_without_pairs_there_is_no_offset() -> None:
    assert beside_wall("c", "s", [], "") is None
