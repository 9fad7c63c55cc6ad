from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokengap.errors import UsageError
from tokengap.handoff.links import (
    FixedOverlap,
    LayerOverlap,
    Link,
    busiest_share,
    copies,
    fair_share_ns,
)
from tokengap.units import parse_bandwidth_bytes_per_s

MIB, GIB = 2**20, 2**30
powers = st.sampled_from((1, 2, 4, 8, 16, 32))
times_ns = st.fractions(0, 10**6, max_denominator=100)


def test_bits_bytes_and_binary_units_differ_as_they_should() -> None:
    # 1 GB: 20 ms at 400 Gb/s and at 50 GB/s, less at 50 GiB/s, which moves 1 GiB in 20 ms
    bits, decimal, binary = (
        Link(parse_bandwidth_bytes_per_s(text)) for text in ("400 Gb/s", "50 GB/s", "50 GiB/s")
    )
    assert bits.transfer_ns(10**9) == decimal.transfer_ns(10**9) == 20 * 10**6
    assert binary.transfer_ns(GIB) == 20 * 10**6
    assert binary.transfer_ns(10**9) == Fraction(20 * 10**15, GIB)


def test_transfers_that_share_a_link_each_take_that_many_times_as_long() -> None:
    alone, shared = Link(GIB), Link(GIB, transfers=3)
    assert shared.transfer_ns(4 * MIB) == 3 * alone.transfer_ns(4 * MIB)
    assert shared.transfer_ns(4 * MIB) == fair_share_ns([4 * MIB] * 3, GIB)[0]


def test_fair_share_by_hand() -> None:
    # 1 byte/ns: three share until 6, at 2 bytes each; two until 10; the last one alone until 12
    assert fair_share_ns([6, 2, 4], 10**9) == [12, 6, 10]
    assert fair_share_ns([], 10**9) == []


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8))
@settings(deadline=None)
def test_a_shared_link_is_never_idle(sizes_bytes: list[int]) -> None:
    done_ns = fair_share_ns(sizes_bytes, 10**9)
    assert max(done_ns) == sum(sizes_bytes)
    assert all(ns >= size for ns, size in zip(done_ns, sizes_bytes, strict=True))


def busiest_by_hand(heads: int, prefill_tp: int, decode_tp: int) -> Fraction:
    """Move every head to every decode rank that holds it, and count what passes each link."""
    passes: Counter[str] = Counter()
    prefill_copies, decode_copies = max(1, prefill_tp // heads), max(1, decode_tp // heads)
    prefill_shards, decode_shards = min(prefill_tp, heads), min(decode_tp, heads)
    for head in range(heads):
        for copy in range(decode_copies):
            sender = head * prefill_shards // heads * prefill_copies + copy % prefill_copies
            receiver = head * decode_shards // heads * decode_copies + copy
            passes[f"from {sender}"] += 1
            passes[f"to {receiver}"] += 1
    return Fraction(max(passes.values()), heads)


@given(powers, powers, powers)
@settings(deadline=None)
def test_busiest_share_is_what_a_count_of_every_head_gives(
    heads: int, prefill_tp: int, decode_tp: int
) -> None:
    share = busiest_share(heads, prefill_tp, decode_tp)
    assert share == busiest_by_hand(heads, prefill_tp, decode_tp)


@pytest.mark.parametrize(
    ("heads", "prefill_tp", "decode_tp", "share"),
    [
        (8, 1, 1, "1"),
        (8, 4, 4, "1/4"),
        (8, 2, 4, "1/2"),  # two senders
        (8, 4, 2, "1/2"),  # two receivers
        (8, 16, 16, "1/8"),  # no finer than a head
        (1, 1, 8, "8"),  # eight copies of the latent leave one rank
    ],
)
def test_shares_by_hand(heads: int, prefill_tp: int, decode_tp: int, share: str) -> None:
    assert busiest_share(heads, prefill_tp, decode_tp) == Fraction(share)


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(UsageError, match="8 KV heads do not divide over 3"):
        copies(8, 3)
    with pytest.raises(UsageError, match="1 or more"):
        copies(8, 0)


def layers_by_hand(layers: int, compute_ns: Fraction, send_ns: Fraction) -> Fraction:
    """What is still on its way once all is computed, layer after layer."""
    over_ns = Fraction(0)
    for layer in range(1, layers + 1):
        over_ns = max(layer * compute_ns, over_ns) + send_ns
    return over_ns - layers * compute_ns


@given(st.integers(1, 40), times_ns, times_ns)
@settings(deadline=None)
def test_overlap_by_layer_is_what_the_dependencies_allow(
    layers: int, prefill_ns: Fraction, transfer_ns: Fraction
) -> None:
    overlap = LayerOverlap(layers, prefill_ns)
    exposed_ns = transfer_ns - overlap.hidden_ns(transfer_ns)
    assert exposed_ns == layers_by_hand(layers, prefill_ns / layers, transfer_ns / layers)
    assert overlap.longest_transfer_ns(exposed_ns) == transfer_ns


@given(times_ns, times_ns)
@settings(deadline=None)
def test_a_fixed_overlap_is_at_most_the_transfer(
    overlap_ns: Fraction, transfer_ns: Fraction
) -> None:
    overlap = FixedOverlap(overlap_ns)
    hidden_ns = overlap.hidden_ns(transfer_ns)
    assert hidden_ns in (overlap_ns, transfer_ns)
    assert hidden_ns <= transfer_ns
    assert overlap.longest_transfer_ns(transfer_ns - hidden_ns) >= transfer_ns


def test_what_is_no_link_is_refused() -> None:
    for make in (
        lambda: Link(0),
        lambda: Link(1, transfers=0),
        lambda: Link(1, busiest_share=0),
        lambda: FixedOverlap(-1),
        lambda: LayerOverlap(0, 1),
    ):
        with pytest.raises(UsageError):
            make()
