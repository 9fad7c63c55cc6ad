import pytest

from tests.replay.sweep.given import MACHINE, MODEL
from tokengap.errors import UsageError
from tokengap.replay import Chunked, JoinShortest, RoundRobin, Transport
from tokengap.replay.sweep.arms import Machine
from tokengap.replay.sweep.named import Ways, named_arm

WAY = Transport(kv_bytes_per_token=8, retries=3)
ONE = Ways([MACHINE], WAY, layers=32)
BOTH = Ways([MACHINE, Machine("h100", MODEL)], WAY)


def test_arms_by_name() -> None:
    together = named_arm("4", ONE)
    assert (together.name, together.kind) == ("4 colocated, prefill-first", "colocated")
    chunked = named_arm("4@h100:chunked=64:batch=9", BOTH)
    assert (chunked.pools.decode.scheduler, chunked.pools.decode.max_running) == (Chunked(64), 9)
    assert chunked.machines == (BOTH.machines[1],)
    apart = named_arm("1P@h100+2D", BOTH)
    assert (apart.name, apart.sizes) == ("1P h100+2D m", (1, 2))
    assert apart.pools.transport == WAY


def test_a_split_may_have_a_link_of_its_own() -> None:
    apart = named_arm("1P+1D:link=25Gb/s:overlap:withheld", ONE)
    assert apart.name == "1P+1D, link 25Gb/s, overlap, withheld"
    assert apart.pools.transport.bandwidth_bytes_per_s == 25e9 / 8
    assert apart.pools.transport.overlap_layers == 32
    assert apart.pools.transport.withheld
    assert named_arm("1P+1D:link=none", ONE).pools.transport.bandwidth_bytes_per_s is None


def test_an_arm_may_have_a_router_of_its_own() -> None:
    together = named_arm("4:router=round-robin", ONE)
    assert together.name == "4 colocated, prefill-first, router round-robin"
    assert together.pools.decode.router is RoundRobin
    apart = named_arm("2P+2D:router=join-shortest", ONE)
    assert apart.pools.prefill is not None
    assert apart.pools.prefill.router is apart.pools.decode.router is JoinShortest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "write 4,") for text in ("", "P", "2P", "2P+D", "1+1", "x4", "4:chunked", "4:x")),
        ("4:chunked=x", "no whole number"),
        ("4:link=1GB/s", "link is for a split"),
        ("1P+1D:chunked=64", "takes whole prompts"),
        ("1P+1D:link=1", "has no unit"),
        ("1P+1D:overlap", "overlap needs a model"),
        ("4:router=random", "no router is called 'random'"),
        ("4@b200", "no machine is called 'b200'; there are m, h100"),
    ],
)
def test_anything_else_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        named_arm(text, BOTH)


def test_a_link_needs_something_to_carry() -> None:
    with pytest.raises(UsageError, match="size of a token's cache"):
        named_arm("1P+1D:link=1GB/s", Ways([MACHINE], Transport()))
