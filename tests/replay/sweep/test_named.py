import pytest

from tests.replay.sweep.given import MACHINE, MODEL
from tokengap.errors import UsageError
from tokengap.replay import Chunked, Transport
from tokengap.replay.sweep.arms import Machine
from tokengap.replay.sweep.named import named_arm

BOTH = [MACHINE, Machine("h100", MODEL)]
WAY = Transport(retries=3)


def test_arms_by_name() -> None:
    together = named_arm("4", [MACHINE], WAY)
    assert (together.name, together.kind) == ("4 colocated, prefill-first", "colocated")
    chunked = named_arm("4:h100:chunked=64", BOTH, WAY)
    assert chunked.pools.decode.scheduler == Chunked(64)
    assert chunked.machines == (BOTH[1],)
    apart = named_arm("1P:h100+2D", BOTH, WAY)
    assert (apart.name, apart.sizes) == ("1P h100+2D m", (1, 2))
    assert apart.pools.transport == WAY


@pytest.mark.parametrize("text", ["", "P", "2P", "2P+D", "1+1", "x4", "4:chunked=x"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write 4, 4:chunked=512"):
        named_arm(text, [MACHINE], WAY)


def test_an_unknown_machine_is_named() -> None:
    with pytest.raises(UsageError, match="no machine is called 'b200'; the file has m, h100"):
        named_arm("4:b200", BOTH, WAY)
