import pytest

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.stamps import after_ns, set_seconds_ns, stamp_notes


def test_zero_is_a_stamp_that_was_never_set() -> None:
    assert [set_seconds_ns(s, "t") for s in (None, 0.0, 1.5, -2.0)] == [
        None,
        None,
        1_500_000_000,
        -2_000_000_000,
    ]
    with pytest.raises(LineError, match="t: seconds expected"):
        set_seconds_ns(float("nan"), "t")


def test_notes_on_what_stamps_say_of_themselves() -> None:
    assert stamp_notes((1.0, None), (1, None, 1, 5)) == []
    assert stamp_notes((1.0, 0.0), (1, None)) == ["sentinel_dropped"]
    assert stamp_notes((), (3, None, 2)) == ["clock_contradiction"]
    assert stamp_notes((0.0,), (3, 2)) == ["sentinel_dropped", "clock_contradiction"]


def test_the_end_of_a_duration() -> None:
    assert after_ns(5, -7, "t") == -2
    assert after_ns(None, 7, "t") is None
    assert after_ns(5, None, "t") is None
    with pytest.raises(LineError, match=r"t: whole nanoseconds below 2\^62"):
        after_ns(2**61, 2**61, "t")
