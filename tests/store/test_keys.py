from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.store.fakes import FAKE, FakeAdapter, line, log
from tokengap.errors import KeyCollisionError
from tokengap.store.keys import check_unique, superseding
from tokengap.store.load import load
from tokengap.store.records import Part

FINE = FakeAdapter("fine", supersedes=("coarse", "older"))
COARSE, OLDER, STRANGE = FakeAdapter("coarse"), FakeAdapter("older"), FakeAdapter("strange")
ALL = (FINE, COARSE, OLDER, STRANGE)


def parts(path: Path, *lines: str, adapters: Sequence[FakeAdapter] = FAKE) -> list[Part]:
    """Parts of a log under the trace `t`, whatever its name."""
    path.parent.mkdir(exist_ok=True)
    return load([log(path, *lines)], path.parent, trace="t", adapters=adapters).parts


def of(adapter: FakeAdapter, folder: Path, *requests: str) -> list[Part]:
    lines = [line(request, key=adapter.name) for request in requests]
    return parts(folder / f"{adapter.name}.log", *lines, adapters=ALL)


def test_keys_that_differ_in_one_column_are_different(tmp_path: Path) -> None:
    here = parts(tmp_path / "a.log", line("r1"), line("r2"), line("r3", vantage="gateway"))
    there = parts(tmp_path / "b.log", line("r4"), line("r3"), line("r1", vantage="gateway"))
    check_unique([*here, *there], tmp_path)
    check_unique(here, tmp_path, standing=there)


def test_a_key_that_comes_twice_in_one_file_is_refused(tmp_path: Path) -> None:
    path = log(tmp_path / "a.log", line("r1"), line("r2"), line("r1"))
    with pytest.raises(KeyCollisionError, match=f"{path}:1 and {path}:3 hold the same stream"):
        load([path], tmp_path, adapters=FAKE)


def test_unknown_vantages_are_equal(tmp_path: Path) -> None:
    nowhere = '{"fake": "r", "times": [1, 2], "vantage": null, "n": %d}'
    here, there = (parts(tmp_path / f"{n}.log", nowhere % n) for n in (1, 2))
    for fresh, standing in (([*here, *there], []), (here, there)):
        with pytest.raises(KeyCollisionError, match="vantage None"):
            check_unique(fresh, tmp_path, standing=standing)


def test_a_key_that_is_in_the_store_is_refused(tmp_path: Path) -> None:
    here = parts(tmp_path / "a.log", line("r0"), line("r1"))
    there = parts(tmp_path / "b.log", line("r2"), line("r1"), line("r3"))
    with pytest.raises(KeyCollisionError) as caught:
        check_unique(here, tmp_path, standing=there)
    assert "a.log:2" in str(caught.value)
    assert "b.log:2" in str(caught.value)


def test_only_new_keys_are_checked(tmp_path: Path) -> None:
    there = parts(tmp_path / "b.log", line("r1"))
    check_unique([], tmp_path, standing=[*there, *there])


def test_a_finer_format_may_hold_the_same_streams(tmp_path: Path) -> None:
    fine, coarse = of(FINE, tmp_path, "r1", "r2"), of(COARSE, tmp_path, "r1", "r2")
    check_unique([*fine, *coarse], tmp_path, adapters=ALL)
    check_unique(fine, tmp_path, standing=coarse, adapters=ALL)
    check_unique(coarse, tmp_path, standing=fine, adapters=ALL)


def test_formats_under_one_finer_one_may_share_streams_too(tmp_path: Path) -> None:
    three = [*of(FINE, tmp_path, "r"), *of(COARSE, tmp_path, "r"), *of(OLDER, tmp_path, "r")]
    check_unique(three, tmp_path, adapters=ALL)


def test_each_format_may_hold_a_stream_once(tmp_path: Path) -> None:
    fine, coarse = of(FINE, tmp_path, "r1"), of(COARSE, tmp_path, "r1")
    again = parts(tmp_path / "again.log", line("r1", 1, 2, key="coarse"), adapters=ALL)
    with pytest.raises(KeyCollisionError):
        check_unique([*fine, *coarse, *again], tmp_path, adapters=ALL)
    with pytest.raises(KeyCollisionError):
        check_unique(again, tmp_path, standing=[*fine, *coarse], adapters=ALL)


def test_unrelated_formats_may_not_share_a_stream(tmp_path: Path) -> None:
    fine, strange = of(FINE, tmp_path, "r1"), of(STRANGE, tmp_path, "r1")
    with pytest.raises(KeyCollisionError):
        check_unique([*fine, *strange], tmp_path, adapters=ALL)
    with pytest.raises(KeyCollisionError):
        check_unique(strange, tmp_path, standing=fine, adapters=ALL)


def test_pairs_are_told_only_where_both_are_there(tmp_path: Path) -> None:
    fine, coarse = of(FINE, tmp_path, "r1"), of(COARSE, tmp_path, "r1")
    strange = of(STRANGE, tmp_path, "r1")
    assert superseding([*fine, *coarse, *strange], ALL) == [("coarse", "fine")]
    assert superseding([*coarse, *strange], ALL) == []
    assert superseding([], ALL) == []
