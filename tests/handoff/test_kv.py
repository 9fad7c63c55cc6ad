import csv
import doctest
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokengap.errors import UsageError
from tokengap.handoff import kv
from tokengap.handoff.kv import (
    BYTES_PER_VALUE,
    Cache,
    Layers,
    StateLayers,
    bytes_per_value,
    gqa,
    mla,
)

BF16 = BYTES_PER_VALUE["bf16"]
with (Path(__file__).parent / "data" / "kv_bytes.csv").open(encoding="utf-8") as lines:
    REFERENCE = list(csv.DictReader(lines))

groups = st.builds(
    Layers, st.integers(1, 9), st.just(8), st.integers(1, 300), st.none() | st.integers(1, 500)
) | st.builds(StateLayers, st.integers(1, 9), st.just(8), st.integers(1, 10**4).map(Fraction))
any_cache = st.builds(
    Cache,
    st.lists(groups, min_size=1, max_size=3).map(tuple),
    st.sampled_from(sorted(BYTES_PER_VALUE.values())),
)


def test_the_examples_in_the_docstrings_hold() -> None:
    result = doctest.testmod(kv)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['model']} {row['tokens']}")
def test_reference_sizes_hold_exactly(row: dict[str, str]) -> None:
    per_value = Fraction(row["bytes_per_value"])
    cache = (
        mla(int(row["layers"]), int(row["kv_lora_rank"]), int(row["rope_dim"]), per_value)
        if row["attention"] == "mla"
        else gqa(int(row["layers"]), int(row["kv_heads"]), int(row["head_dim"]), per_value)
    )
    assert cache.bytes_per_token == int(row["bytes_per_token"])
    assert cache.prompt_bytes(int(row["tokens"])) == int(row["total_bytes"])


def test_opt_66b_at_512_tokens_is_a_gibibyte_and_an_eighth() -> None:
    assert gqa(64, 72, 128, BF16).prompt_bytes(512) == Fraction("1.125") * 2**30


def test_a_window_holds_no_more_than_its_tokens() -> None:
    # two layers of 1 head and 10 values of 2 bytes: 40 B per token, one stops at 4 tokens
    cache = Cache((Layers(1, 1, 10), Layers(1, 1, 10, window_tokens=4)), BF16)
    assert [cache.prompt_bytes(tokens) for tokens in (1, 4, 5, 9)] == [40, 160, 180, 260]
    assert cache.bytes_per_token == 40


def test_a_fixed_state_does_not_grow() -> None:
    cache = Cache((StateLayers(3, 4, Fraction(5)), Layers(1, 4, 1)), BF16)
    assert [cache.prompt_bytes(tokens) for tokens in (0, 1, 2)] == [60, 68, 76]
    assert cache.fixed_bytes == 60
    assert cache.bytes_per_token == 8
    assert cache.prompt_bytes(1, tp=2) == 34


def test_blocks_round_up() -> None:
    cache = gqa(1, 1, 1, BF16)  # 4 B per token
    sizes = [cache.prompt_bytes(tokens, block_tokens=16) for tokens in (0, 1, 16, 17)]
    assert sizes == [0, 64, 64, 128]


@pytest.mark.parametrize(("tp", "share"), [(1, 1), (2, 2), (8, 8), (16, 8), (32, 8)])
def test_a_rank_holds_one_head_or_more(tp: int, share: int) -> None:
    cache = gqa(80, 8, 128, BF16)
    assert cache.prompt_bytes(100, tp=tp) * share == cache.prompt_bytes(100)


def test_every_rank_holds_the_latent() -> None:
    cache = mla(61, 512, 64, BYTES_PER_VALUE["fp8"])
    assert cache.prompt_bytes(7, tp=16) == cache.prompt_bytes(7)


def test_types_in_bytes() -> None:
    caches = {name: gqa(32, 8, 128, bytes_per_value(name)) for name in BYTES_PER_VALUE}
    sizes = {name: cache.bytes_per_token for name, cache in caches.items()}
    assert sizes == {
        "fp32": 262_144,
        "fp16": 131_072,
        "bf16": 131_072,
        "fp8": 65_536,
        "int8": 65_536,
        "int4": 32_768,
    }
    with pytest.raises(UsageError, match="write one of fp32, fp16"):
        bytes_per_value("float")


@given(any_cache, st.integers(0, 2000), st.sampled_from((1, 16)), st.fractions(0, 1))
@settings(deadline=None)
def test_the_longest_prompt_is_the_last_that_fits(
    cache: Cache, tokens: int, block: int, more: Fraction
) -> None:
    room = cache.prompt_bytes(tokens, block_tokens=block) + more
    longest = cache.longest_prompt_tokens(room, block_tokens=block)
    if longest is None:
        assert cache.prompt_bytes(10**6, block_tokens=block) <= room
    else:
        assert longest >= tokens
        assert cache.prompt_bytes(longest, block_tokens=block) <= room
        assert cache.prompt_bytes(longest + 1, block_tokens=block) > room


def test_no_prompt_fits_where_the_state_alone_does_not() -> None:
    cache = Cache((StateLayers(1, 1, Fraction(100)),), BF16)
    assert cache.longest_prompt_tokens(Fraction(99)) is None


def test_what_is_no_cache_or_prompt_is_refused() -> None:
    for make in (
        lambda: Cache((), BF16),
        lambda: gqa(0, 8, 128, BF16),
        lambda: gqa(1, 8, 128, BF16).prompt_bytes(-1),
        lambda: gqa(1, 8, 128, BF16).prompt_bytes(1, block_tokens=0),
        lambda: gqa(1, 8, 128, BF16).prompt_bytes(1, tp=3),
        lambda: Cache((Layers(1, 2, 1), Layers(1, 3, 1)), BF16).heads,
    ):
        with pytest.raises(UsageError):
            make()
