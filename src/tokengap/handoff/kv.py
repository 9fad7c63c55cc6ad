"""Bytes of KV cache: per token, per prompt, and on one tensor-parallel rank. Exact rationals."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tokengap.errors import UsageError
from tokengap.handoff.links import copies

BYTES_PER_VALUE: Final = {
    "fp32": Fraction(4),
    "fp16": Fraction(2),
    "bf16": Fraction(2),
    "fp8": Fraction(1),
    "int8": Fraction(1),
    "int4": Fraction(1, 2),
}
"""Of the values alone: scales of a quantised cache are not counted."""


@dataclass(frozen=True)
class Layers:
    """Equal layers that hold values for every token, or for the last `window_tokens`."""

    layers: int
    heads: int
    """KV heads, which shards divide; 1 for the latent of MLA, which every rank holds."""
    values_per_head: int
    """Per token: 2 * head_dim (key and value), or kv_lora_rank + rope_dim."""
    window_tokens: int | None = None
    """Tokens that are kept; None keeps all."""


@dataclass(frozen=True)
class StateLayers:
    """Equal layers that hold a state of fixed size, however long the prompt."""

    layers: int
    heads: int
    """What shards divide."""
    bytes_per_head: Fraction


@dataclass(frozen=True)
class Cache:
    """What a model keeps of a prompt."""

    groups: tuple[Layers | StateLayers, ...]
    bytes_per_value: Fraction

    def __post_init__(self) -> None:
        if not self.groups or not all(g.layers >= 1 and g.heads >= 1 for g in self.groups):
            raise UsageError("a cache has 1 layer or more, of 1 KV head or more")

    @property
    def layers(self) -> int:
        """Layers that hold anything."""
        return sum(group.layers for group in self.groups)

    @property
    def heads(self) -> int:
        """KV heads that shards divide. UsageError if layers differ in it."""
        different = sorted({group.heads for group in self.groups})
        if len(different) > 1:
            named = " and ".join(str(heads) for heads in different)
            raise UsageError(f"layers of {named} heads: shards of the two divide differently")
        return different[0]

    @property
    def bytes_per_token(self) -> Fraction:
        """What one more token adds while no window is full; fixed states add nothing.

        >>> int(gqa(32, 8, 128, BYTES_PER_VALUE["bf16"]).bytes_per_token)
        131072
        """
        return self.prompt_bytes(1) - self.fixed_bytes

    @property
    def fixed_bytes(self) -> Fraction:
        """What layers of fixed state hold of any prompt."""
        return self.prompt_bytes(0)

    def prompt_bytes(self, tokens: int, *, block_tokens: int = 1, tp: int = 1) -> Fraction:
        """Cache of a prompt; on one of `tp` ranks if there are several.

        Kept tokens are rounded up to whole blocks. A rank holds one KV head or more. UsageError if
        heads and ranks do not divide evenly.

        >>> latent = mla(61, 512, 64, BYTES_PER_VALUE["fp8"])
        >>> int(latent.prompt_bytes(1)), int(latent.prompt_bytes(1, tp=8))
        (35136, 35136)
        """
        if tokens < 0 or block_tokens < 1:
            raise UsageError("a prompt has 0 tokens or more, a block 1 or more")
        held = (self._group_bytes(group, tokens, block_tokens, tp) for group in self.groups)
        return sum(held, Fraction(0))

    def _group_bytes(
        self, group: Layers | StateLayers, tokens: int, block_tokens: int, tp: int
    ) -> Fraction:
        heads = Fraction(group.heads * copies(group.heads, tp), tp)
        if isinstance(group, StateLayers):
            return group.layers * heads * group.bytes_per_head
        kept = tokens if group.window_tokens is None else min(tokens, group.window_tokens)
        in_blocks = -(-kept // block_tokens) * block_tokens
        return group.layers * heads * group.values_per_head * in_blocks * self.bytes_per_value

    def longest_prompt_tokens(self, cache_bytes: Fraction, *, block_tokens: int = 1) -> int | None:
        """Tokens of the longest prompt whose cache is no larger than this.

        None if even an empty prompt's is, or if no prompt is too long (every window is full).
        """
        if self.fixed_bytes > cache_bytes or self._ceiling(block_tokens) <= cache_bytes:
            return None
        low, high = 0, 1
        while self.prompt_bytes(high, block_tokens=block_tokens) <= cache_bytes:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.prompt_bytes(middle, block_tokens=block_tokens) <= cache_bytes
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _ceiling(self, block_tokens: int) -> Fraction | float:
        """The largest cache of any prompt: infinite if a layer keeps every token."""
        windows = [group.window_tokens for group in self.groups if isinstance(group, Layers)]
        bounded = [window for window in windows if window is not None]
        if len(bounded) < len(windows):
            return float("inf")
        return self.prompt_bytes(max(bounded, default=0), block_tokens=block_tokens)


def gqa(layers: int, kv_heads: int, head_dim: int, bytes_per_value: Fraction) -> Cache:
    """Keys and values of every token: 2 * layers * kv_heads * head_dim * bytes_per_value.

    MHA has as many KV heads as attention heads, MQA has one.
    """
    return Cache((Layers(layers, kv_heads, 2 * head_dim),), bytes_per_value)


def mla(layers: int, kv_lora_rank: int, rope_dim: int, bytes_per_value: Fraction) -> Cache:
    """One latent and one rotary key of every token: layers * (rank + rope) * bytes_per_value."""
    return Cache((Layers(layers, 1, kv_lora_rank + rope_dim),), bytes_per_value)


def bytes_per_value(kv_dtype: str) -> Fraction:
    """Bytes of one value. UsageError for a name that is not in `BYTES_PER_VALUE`."""
    if kv_dtype not in BYTES_PER_VALUE:
        known = ", ".join(BYTES_PER_VALUE)
        raise UsageError(f"no type of values is called {kv_dtype!r}; write one of {known}")
    return BYTES_PER_VALUE[kv_dtype]
