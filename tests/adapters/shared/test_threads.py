"""Threads change neither the order of results nor what an error does."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.threads import in_order, read_in_order
from tokengap.adapters.source import Source


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(in_order(lambda n: n * n, range(50))) == [n * n for n in range(50)]


def test_an_error_in_a_thread_is_not_lost() -> None:
    def broken(n: int) -> float:
        return 1 / (5 - n)

    results = in_order(broken, range(50))
    with pytest.raises(ZeroDivisionError):
        list(results)


def test_items_are_not_read_far_ahead() -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for n in range(1000):
            read.append(n)
            yield n

    results = cast("Generator[int]", in_order(lambda n: n, items()))
    next(results)
    results.close()
    assert len(read) < 20


def test_rejects_come_in_the_order_of_the_items(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x")
    source, intake = Source("log", path), Intake("t", "table")

    def read(item: int, own: Intake) -> Iterator[int]:
        own.reject(source, item, "odd" if item % 2 else "even")
        yield from (item, item)

    assert list(read_in_order(read, range(3), intake)) == [0, 0, 1, 1, 2, 2]
    assert [(reject.line, reject.reason) for reject in intake.rejects] == [
        (0, "even"), (1, "odd"), (2, "even"),
    ]  # fmt: skip
