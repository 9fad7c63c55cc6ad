from dataclasses import replace
from pathlib import Path

import pytest

from tokengap.adapters.source import Source
from tokengap.errors import KeyCollisionError
from tokengap.store.records import FileId, Provenance
from tokengap.store.standing import LiveLoads, Standing, why_replaced


def source(path: Path, content: bytes) -> Source:
    path.write_bytes(content)
    return Source(str(path), path)


def provenance(*sources: Source, trace: str | None = None, version: int = 1) -> Provenance:
    options = {} if trace is None else {"trace": trace}
    return Provenance("fake", version, tuple(FileId.of(each) for each in sources), options)


def stand(live: list[Provenance], *sources: Source, **how: str | int | None) -> Standing:
    new = provenance(*sources, **how)  # type: ignore[arg-type]
    return LiveLoads(live).standing(new, sources)


def test_in_an_empty_store_everything_is_new(tmp_path: Path) -> None:
    assert stand([], source(tmp_path / "a", b"a")) == Standing()


def test_the_same_bytes_read_the_same_way_are_there(tmp_path: Path) -> None:
    old = provenance(source(tmp_path / "a", b"same"))
    copy = source(tmp_path / "b", b"same")
    assert stand([old], copy) == Standing(already=old)
    assert provenance(copy).load_id == old.load_id


@pytest.mark.parametrize(
    ("how", "why"),
    [({"version": 2}, "fake reads it better now"), ({"trace": "x"}, "other options")],
)
def test_the_same_bytes_read_in_another_way_are_replaced(
    tmp_path: Path, how: dict[str, str | int | None], why: str
) -> None:
    a = source(tmp_path / "a", b"same")
    old = provenance(a)
    assert stand([old], a, **how) == Standing(replaces=(old,))
    assert why_replaced(old, provenance(a, **how)) == why  # type: ignore[arg-type]


def test_another_format_or_schema_replaces_too(tmp_path: Path) -> None:
    a = source(tmp_path / "a", b"same")
    new = provenance(a)
    for old, why in (
        (replace(new, adapter="guess"), "read as fake instead of guess"),
        (replace(new, schema_version=0), "the table has more columns now"),
    ):
        assert LiveLoads([old]).standing(new, [a]) == Standing(replaces=(old,))
        assert why_replaced(old, new) == why


@pytest.mark.parametrize("old_bytes", [3, 4095, 4096, 4097, 9000])
def test_a_log_that_grew_replaces_its_older_state(tmp_path: Path, old_bytes: int) -> None:
    content = bytes(i % 251 for i in range(9000))
    old = provenance(source(tmp_path / "app.log.1", content[:old_bytes]))
    grown = source(tmp_path / "renamed", content + b"more")
    assert stand([old], grown) == Standing(replaces=(old,))
    assert why_replaced(old, provenance(grown)) == "the log has grown"


def test_a_log_that_only_begins_alike_is_new(tmp_path: Path) -> None:
    head = bytes(5000)
    old = provenance(source(tmp_path / "a", head + b"one line"))
    assert stand([old], source(tmp_path / "b", head + b"another line")) == Standing()
    assert stand([old], source(tmp_path / "c", head)) == Standing()  # shorter


def test_files_read_together_replace_what_was_read_of_them_alone(tmp_path: Path) -> None:
    a, b = source(tmp_path / "a", b"first"), source(tmp_path / "b", b"second")
    alone = [provenance(a), provenance(b)]
    found = stand(alone, b, a)
    assert found.already is None
    assert sorted(old.load_id for old in found.replaces) == sorted(old.load_id for old in alone)
    assert why_replaced(alone[0], provenance(a, b)) == "read together with more files"


def test_the_order_of_files_does_not_make_another_load(tmp_path: Path) -> None:
    a, b = source(tmp_path / "a", b"first"), source(tmp_path / "b", b"second")
    old = provenance(a, b)
    assert stand([old], b, a) == Standing(already=old)
    assert provenance(b, a).load_id == old.load_id


def test_a_file_read_together_with_others_is_there(tmp_path: Path) -> None:
    a, b = source(tmp_path / "a", b"first"), source(tmp_path / "b", b"second")
    old = provenance(a, b)
    assert stand([old], a) == Standing(already=old)


def test_a_file_of_several_is_not_read_in_another_way_alone(tmp_path: Path) -> None:
    a, b = source(tmp_path / "a", b"first"), source(tmp_path / "b", b"second")
    with pytest.raises(KeyCollisionError, match=r"give all of .*/a, .*/b in this call"):
        stand([provenance(a, b)], a, trace="x")


def test_a_set_is_replaced_when_one_of_its_files_grew(tmp_path: Path) -> None:
    a, b = source(tmp_path / "a", b"first"), source(tmp_path / "b", b"second")
    old = provenance(a, b)
    grown = source(tmp_path / "b2", b"second and third")
    assert stand([old], a, grown) == Standing(replaces=(old,))
