import msgspec
import numpy as np
import pyarrow as pa
from msgspec import inspect

from tokengap.adapters.shared.columns import Columns
from tokengap.adapters.shared.fields import Layout
from tokengap.adapters.shared.losses import Losses
from tokengap.adapters.shared.sieve import Sieve


class Record(msgspec.Struct):
    size: float


def records(sizes: dict[int, float], undecoded: tuple[int, ...] = ()) -> Columns:
    """Records with these numbers and sizes."""
    fields = Layout(inspect.type_info(Record)).fields([Record(size) for size in sizes.values()])
    numbers = np.array(list(sizes), np.int64)
    return Columns(fields, numbers, Sieve(len(sizes)), int, undecoded=undecoded)


def test_a_record_is_lost_to_what_began_before_it_and_ended_later() -> None:
    found = records({1: 0.0, 2: -1.0, 9: 0.0}, undecoded=(5,))
    found.refuse(pa.array([False, True, False]), "below 0")
    losses = Losses()
    losses.note(found)
    begins = np.array([1, 1, 3, 3, 6, 2])
    assert losses.between(begins, [2, 3, 5, 6, 9, 2**62]).tolist() == [
        False,  # ended by the lost record itself
        True,
        False,
        True,
        False,
        True,  # began with the lost one
    ]


def test_losses_add_up() -> None:
    losses = Losses()
    for undecoded in ((7,), (12,)):
        losses.note(records({undecoded[0] - 1: 0.0}, undecoded))
    assert losses.between(np.array([1, 8, 13]), [8, 13, 20]).tolist() == [True, True, False]
