"""Work in threads, with results in order: Arrow and numpy run beside each other."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Final, TypeVar

from tokengap.adapters.interface import Intake

WORKERS: Final = min(4, os.cpu_count() or 1)

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int = WORKERS
) -> Iterator[Result]:
    """`work` on every item, in threads, results in the items' order and only a few ahead."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > workers + 1:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def read_in_order(
    read: Callable[[Item, Intake], Iterable[Result]], items: Iterable[Item], intake: Intake
) -> Iterator[Result]:
    """What `read` finds in every item, in threads; its rejects reach `intake` in order too."""

    def work(item: Item) -> tuple[list[Result], Intake]:
        own = replace(intake, rejects=[], clocks=[])
        return list(read(item, own)), own

    for found, own in in_order(work, items):
        intake.rejects += own.rejects
        intake.clocks += own.clocks
        yield from found
