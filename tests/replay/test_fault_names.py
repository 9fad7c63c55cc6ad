from math import inf

import pytest

from tokengap.errors import UsageError
from tokengap.replay import FailingTransfers, Fault, LostWorker, SlowLink, SlowWorker
from tokengap.replay.fault_names import named_fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("lost=decode-0@10s..20s", LostWorker("decode-0", 10_000, 20_000)),
        ("lost=worker-3@1.5s..", LostWorker("worker-3", 1_500, inf)),
        ("slow=worker-1@5s..9s*2.5", SlowWorker("worker-1", 5_000, 9_000, 2.5)),
        ("slow=worker-1@0ns..*2", SlowWorker("worker-1", 0, inf, 2)),
        ("link=prefill-0@1min..2min*0.1", SlowLink("prefill-0", 60_000, 120_000, 0.1)),
        ("transfers=0.25@100ms..1s", FailingTransfers(100, 1_000, 0.25)),
        ("transfers=1@1s..1s", FailingTransfers(1_000, 1_000, 1)),
    ],
)
def test_faults_by_name(text: str, fault: Fault) -> None:
    assert named_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "", "lost", "lost=decode-0", "lost=decode-0@10s", "lost=decode-0@10s..20s*2",
        "slow=worker-1@5s..9s", "slow=worker-1@5s..9s*x", "gone=worker-1@5s..9s",
        "transfers=2@1s..2s", "transfers=many@1s..2s",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="fault"):
        named_fault(text)


def test_a_bare_number_is_no_time() -> None:
    with pytest.raises(UsageError, match="has no unit"):
        named_fault("lost=decode-0@10..20s")
