import pytest

from tokengap.adapters.formats.otlp.compartments import COMPARTMENTS, Compartments, compartment_of
from tokengap.errors import InputError


def test_pieces_come_back_by_number_and_in_order() -> None:
    with Compartments() as compartments:
        compartments.put([(3, b"a"), (0, b"bc"), (3, b"")])
        compartments.put([(3, b"def")])
        assert [list(compartments.take(number)) for number in (0, 1, 3)] == [
            [b"bc"], [], [b"a", b"", b"def"],
        ]  # fmt: skip


def test_a_group_has_one_compartment() -> None:
    numbers = {compartment_of(f"g{group}") for group in range(5000)}
    assert numbers == set(range(COMPARTMENTS))
    assert compartment_of("g1") == compartment_of("g1")


def test_no_room_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def tell(self) -> int:
            return 0

        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            file.close()

    with Compartments() as compartments:
        file = compartments._file
        monkeypatch.setattr(compartments, "_file", Full())
        with pytest.raises(InputError, match=r"No space left on device.*TMPDIR"):
            compartments.put([(0, b"a")])
