import doctest
from typing import Any

import pytest

from tokengap.errors import UsageError
from tokengap.handoff import config as module
from tokengap.handoff.config import READERS, cache_of
from tokengap.handoff.kv import Cache, Layers
from tokengap.handoff.models import MODELS, model

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "torch_dtype": "bfloat16",
}


def like(model_type: str, **more: Any) -> Cache:
    return cache_of({**LLAMA, "model_type": model_type, **more})


def without(key: str, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in {**LLAMA, **more}.items() if name != key}


def windows(cache: Cache) -> dict[int | None, int]:
    """Layers by their window."""
    return {g.window_tokens: g.layers for g in cache.groups if isinstance(g, Layers)}


def test_the_examples_in_the_docstrings_hold() -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [
        ("llama-3-8b", 131_072),
        ("llama-3-70b", 327_680),
        ("opt-13b", 819_200),
        ("opt-66b", 2_359_296),
        ("deepseek-v3", 61 * 576 * 2),
        ("gpt-oss-120b", 2 * 36 * 8 * 64 * 2),
    ],
)
def test_models_of_the_table(name: str, bytes_per_token: int) -> None:
    assert cache_of(model(name).config).bytes_per_token == bytes_per_token


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_table_is_read_and_names_its_source(name: str) -> None:
    assert cache_of(model(name).config).bytes_per_token > 0
    assert model(name).source.count("/") == 1


def test_grouped_heads_count_and_attention_heads_do_not() -> None:
    assert cache_of(LLAMA).bytes_per_token == 2 * 4 * 2 * 64 * 2
    assert cache_of(LLAMA, "int4").bytes_per_token == 4 * 2 * 64
    assert cache_of({**LLAMA, "head_dim": 100}).bytes_per_token == 2 * 4 * 2 * 100 * 2


def test_kv_heads_left_out_are_all_heads_only_where_the_class_says_so() -> None:
    unsaid = without("num_key_value_heads")
    assert cache_of(unsaid).bytes_per_token == 2 * 4 * 8 * 64 * 2
    with pytest.raises(UsageError, match="config of qwen2: num_key_value_heads is missing"):
        cache_of({**unsaid, "model_type": "qwen2"})


def test_windows_by_architecture() -> None:
    assert windows(like("mistral", sliding_window=64)) == {64: 4}
    assert windows(like("mistral", sliding_window=None)) == {None: 4}
    assert windows(like("qwen2", sliding_window=64)) == {None: 4}
    switched = {"use_sliding_window": True, "max_window_layers": 3, "sliding_window": 64}
    assert windows(like("qwen2", **switched)) == {None: 3, 64: 1}
    assert windows(like("gemma2", head_dim=64, sliding_window=64)) == {64: 2, None: 2}
    third = {"head_dim": 64, "sliding_window": 64, "sliding_window_pattern": 3}
    assert windows(like("gemma3_text", **third)) == {64: 3, None: 1}


def test_stated_kinds_of_layers_win() -> None:
    kinds = ["full_attention"] * 3 + ["sliding_attention"]
    stated = {"head_dim": 64, "sliding_window": 64, "layer_types": kinds}
    for model_type in ("gpt_oss", "gemma3_text", "gemma2", "qwen3"):
        assert windows(like(model_type, **stated)) == {None: 3, 64: 1}


def test_one_latent_for_all_heads() -> None:
    cache = like("deepseek_v3", kv_lora_rank=512, qk_rope_head_dim=64)
    assert cache.bytes_per_token == 4 * 576 * 2
    assert cache.heads == 1


def test_multi_query_has_one_head() -> None:
    old = {"new_decoder_architecture": False, "multi_query": True}
    assert like("falcon", **old).bytes_per_token == 2 * 4 * 1 * 64 * 2
    new = {"new_decoder_architecture": True, "multi_query": True, "num_kv_heads": 4}
    assert like("falcon", **new).bytes_per_token == 2 * 4 * 4 * 64 * 2
    code = {"n_layer": 4, "n_head": 8, "n_embd": 512, "multi_query": True}
    assert like("gpt_bigcode", **code).bytes_per_token == 2 * 4 * 1 * 64 * 2


def test_linear_layers_hold_a_fixed_state() -> None:
    # One of 4 layers is full: 2 * 2 * 64 values of 2 B. The others keep 3 inputs of
    # 2 * 2 * 8 + 4 * 16 values in 2 B, and 4 matrices of 8 * 16 in 4 B.
    linear = {
        "head_dim": 64,
        "full_attention_interval": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_num_value_heads": 4,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
    }
    cache = cache_of({**LLAMA, "model_type": "qwen3_next", **linear}, state_dtype="fp32")
    assert cache.bytes_per_token == 2 * 2 * 64 * 2
    assert cache.fixed_bytes == 3 * (3 * (32 + 64) * 2 + 4 * 8 * 16 * 4)
    named = like("qwen3_next", **linear, mamba_ssm_dtype="float32")
    assert named == cache
    with pytest.raises(UsageError, match="no mamba_ssm_dtype"):
        like("qwen3_next", **linear)


def test_language_model_of_a_multimodal_one() -> None:
    inner = without("torch_dtype")
    outer = {"model_type": "llava", "torch_dtype": "bfloat16", "text_config": inner}
    assert cache_of(outer) == cache_of(LLAMA)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "model_type is missing"),
        ({"model_type": 3}, "expected a text"),
        ({**LLAMA, "model_type": "rwkv"}, "'rwkv' is not known"),
        (without("num_hidden_layers"), "config of llama: num_hidden_layers is missing"),
        (without("torch_dtype"), "give the type of the cache"),
        (without("", num_hidden_layers="4"), "expected a whole number"),
        (without("", num_hidden_layers=True), "expected a whole number"),
        (without("", hidden_size=511), "no multiple of 8"),
        (without("", model_type="qwen3"), "head_dim is missing"),
        (without("", model_type="mistral"), "sliding_window is missing"),
        (without("", model_type="gpt_oss"), "layer_types is missing"),
        (without("", layer_types=["full_attention"]), "no list of 4 kinds"),
        (without("", layer_types=[["full_attention"]] * 4), "no list of 4 kinds"),
        (without("", layer_types=["chunked_attention"] * 4), "'chunked_attention' are not known"),
        (without("", layer_types=["sliding_attention"] * 4), "sliding_window is missing"),
    ],
)
def test_what_is_missing_is_named_and_never_guessed(config: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        cache_of(config)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="llama-3-8b, "):
        model("gpt-5")


@pytest.mark.parametrize("model_type", READERS)
def test_no_architecture_is_read_from_its_name_alone(model_type: str) -> None:
    with pytest.raises(UsageError, match="missing"):
        cache_of({"model_type": model_type, "torch_dtype": "bfloat16"})
