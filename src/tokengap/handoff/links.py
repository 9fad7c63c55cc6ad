"""What a link carries: transfers that share it, tensor-parallel shards, and overlap by layer.

Times are exact rationals of ns, sizes of bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tokengap.errors import UsageError

NS_PER_S: Final = 10**9
Exact = int | Fraction


@dataclass(frozen=True)
class Link:
    """The way a cache takes: `UsageError` for no bandwidth, no transfer or an empty share."""

    bandwidth_bytes_per_s: Exact
    """Effective bandwidth of one link; more than 0."""
    transfers: int = 1
    """Equal transfers that share each link at once, this one included: each gets its share."""
    busiest_share: Exact = 1
    """What the busiest link carries, as a multiple of the cache; see `busiest_share`."""

    def __post_init__(self) -> None:
        if self.bandwidth_bytes_per_s <= 0:
            raise UsageError("a bandwidth of 0 moves nothing; give one above 0")
        if self.transfers < 1:
            raise UsageError(f"{self.transfers} transfers: this one counts, so give 1 or more")
        if self.busiest_share <= 0:
            raise UsageError("the busiest link carries nothing; give a share above 0")

    @property
    def load(self) -> Fraction:
        """Bytes that pass the busiest link, per byte of the cache, until its transfer is done."""
        return Fraction(self.busiest_share) * self.transfers

    def transfer_ns(self, cache_bytes: Exact) -> Fraction:
        """Time until a whole cache is over.

        >>> Link(2**30).transfer_ns(4 * 2**20) / 10**6 == Fraction("3.90625")
        True
        """
        return Fraction(cache_bytes) * self.load * NS_PER_S / Fraction(self.bandwidth_bytes_per_s)

    def largest_cache_bytes(self, transfer_ns: Exact) -> Fraction:
        """Cache that is over in exactly this time: the inverse of `transfer_ns`."""
        return Fraction(transfer_ns) * Fraction(self.bandwidth_bytes_per_s) / (self.load * NS_PER_S)

    def least_bandwidth_bytes_per_s(self, cache_bytes: Exact, transfer_ns: Exact) -> Fraction:
        """Bandwidth at which this cache is over in exactly this time, which is more than 0."""
        return Fraction(cache_bytes) * self.load * NS_PER_S / Fraction(transfer_ns)


def fair_share_ns(sizes_bytes: Sequence[Exact], bandwidth_bytes_per_s: Exact) -> list[Fraction]:
    """When each of several transfers is over, if all start at once and share a link fairly.

    While n are left, each gets 1/n of the bandwidth; the shortest leaves first.

    >>> [int(ns) for ns in fair_share_ns([1, 3], 10**9)]
    [2, 4]
    """
    done_ns = [Fraction(0)] * len(sizes_bytes)
    now_ns, sent_bytes = Fraction(0), Fraction(0)
    in_order = sorted(range(len(sizes_bytes)), key=lambda place: sizes_bytes[place])
    for left, place in zip(range(len(in_order), 0, -1), in_order, strict=True):
        more_bytes = sizes_bytes[place] - sent_bytes
        now_ns += more_bytes * left * NS_PER_S / Fraction(bandwidth_bytes_per_s)
        sent_bytes += more_bytes
        done_ns[place] = now_ns
    return done_ns


def busiest_share(kv_heads: int, prefill_tp: int, decode_tp: int) -> Fraction:
    """Share of the cache on the busiest link, where every tensor-parallel rank has its own.

    A side of `tp` ranks holds the heads in min(tp, kv_heads) shards; ranks beyond that hold copies
    of a shard. Each decode rank fetches what it holds, each shard of a copy from one prefill rank,
    copies in turn: a prefill rank sends 1/min(prefill_tp, kv_heads) of the cache times
    ceil(decode copies / prefill copies), a decode rank receives 1/min(decode_tp, kv_heads).
    Links are full duplex, so the larger of the two counts. MLA has one latent: kv_heads = 1.

    UsageError if heads and ranks do not divide evenly, as engines require.

    >>> busiest_share(8, 4, 2), busiest_share(8, 2, 16), busiest_share(1, 8, 8)
    (Fraction(1, 2), Fraction(1, 1), Fraction(1, 1))
    """
    prefill_copies = copies(kv_heads, prefill_tp)
    decode_copies = copies(kv_heads, decode_tp)
    fetched = -(-decode_copies // prefill_copies)
    sent = Fraction(fetched, min(prefill_tp, kv_heads))
    return max(sent, Fraction(1, min(decode_tp, kv_heads)))


def copies(kv_heads: int, tp: int) -> int:
    """Ranks that hold the same KV heads: 1 until there are more ranks than heads.

    UsageError if heads and ranks do not divide evenly.
    """
    if kv_heads < 1 or tp < 1:
        raise UsageError(f"{kv_heads} KV heads on {tp} ranks: give 1 or more of each")
    if max(kv_heads, tp) % min(kv_heads, tp):
        raise UsageError(
            f"{kv_heads} KV heads do not divide over {tp} tensor-parallel ranks; "
            "one number must be a multiple of the other"
        )
    return max(1, tp // kv_heads)


@dataclass(frozen=True)
class FixedOverlap:
    """A stated time of the transfer that runs during work already counted."""

    overlap_ns: Exact

    def __post_init__(self) -> None:
        if self.overlap_ns < 0:
            raise UsageError("an overlap is 0 or more")

    @property
    def behind_ns(self) -> Exact:
        """The work that a transfer can run behind."""
        return self.overlap_ns

    @property
    def hideable_share(self) -> Fraction:
        """Of what runs behind that work, the share that adds no wait: all."""
        return Fraction(1)

    def hidden_ns(self, transfer_ns: Exact) -> Fraction:
        """The part of a transfer that adds no wait: never more than the transfer."""
        return Fraction(min(self.overlap_ns, transfer_ns))

    def longest_transfer_ns(self, exposed_ns: Exact) -> Fraction:
        """The longest transfer of which no more than this is waited for."""
        return Fraction(exposed_ns) + self.overlap_ns


@dataclass(frozen=True)
class LayerOverlap:
    """Each layer's cache is sent while later layers are computed.

    Layer i can be sent once it is computed and layer i - 1 is over. With L equal layers, of
    prefill c = prefill / L and transfer t = transfer / L each, the last one is over at
    max(L*c + t, c + L*t), so (L - 1) * min(c, t) of the transfer is hidden: the last layer's never.
    """

    layers: int
    """Equal layers, 1 or more."""
    prefill_ns: Exact

    def __post_init__(self) -> None:
        if self.layers < 1 or self.prefill_ns < 0:
            raise UsageError("overlap by layer needs 1 layer or more, and their prefill time")

    @property
    def behind_ns(self) -> Exact:
        """The work that a transfer can run behind."""
        return self.prefill_ns

    @property
    def hideable_share(self) -> Fraction:
        """Of what runs behind that work, the share that adds no wait: all layers but the last."""
        return Fraction(self.layers - 1, self.layers)

    def hidden_ns(self, transfer_ns: Exact) -> Fraction:
        """The part of a transfer that adds no wait.

        >>> LayerOverlap(4, 40).hidden_ns(20), LayerOverlap(4, 40).hidden_ns(80)
        (Fraction(15, 1), Fraction(30, 1))
        """
        return self.hideable_share * min(self.prefill_ns, transfer_ns)

    def longest_transfer_ns(self, exposed_ns: Exact) -> Fraction:
        """The longest transfer of which no more than this is waited for."""
        if exposed_ns * self.layers <= self.prefill_ns:
            return Fraction(exposed_ns) * self.layers
        return exposed_ns + self.hideable_share * self.prefill_ns


Overlap = FixedOverlap | LayerOverlap
NO_OVERLAP: Final = FixedOverlap(0)
