"""What a model caches, from its Hugging Face `config.json`.

Only architectures whose cache is known are read; a field that decides is never guessed. Rules of
windows and defaults are those of the configuration classes of Hugging Face transformers.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from tokengap.errors import UsageError
from tokengap.handoff.fields import Config
from tokengap.handoff.kv import Cache, Layers, StateLayers, bytes_per_value

Group = Layers | StateLayers


def cache_of(
    config: Mapping[str, Any], kv_dtype: str | None = None, state_dtype: str | None = None
) -> Cache:
    """The cache of a model, from its configuration.

    kv_dtype: a key of `BYTES_PER_VALUE`; without it the cache has the model's own type.
    state_dtype: the same for the state of linear layers, where the configuration names none.
    UsageError for an unknown architecture, or a missing field: it says which.

    >>> llama = {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
    ...     "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"}
    >>> int(cache_of(llama).bytes_per_token), int(cache_of(llama, "fp8").bytes_per_token)
    (131072, 65536)
    """
    text = Config(config, state_dtype)
    reader = READERS.get(text.model_type)
    if reader is None:
        raise UsageError(
            f"model_type {text.model_type!r} is not known, so neither is what its layers cache; "
            f"known: {', '.join(sorted(READERS))}; give layers, KV heads and head size instead"
        )
    return Cache(tuple(reader(text)), bytes_per_value(kv_dtype or text.own_dtype))


def _head_dim(config: Config) -> int:
    if config.has("head_dim") or config.model_type in _HEAD_DIM_STATED:
        return config.count("head_dim")
    hidden, heads = config.count("hidden_size"), config.count("num_attention_heads")
    if hidden % heads:
        raise UsageError(f"config: hidden_size {hidden} is no multiple of {heads} attention heads")
    return hidden // heads


def _kv_heads(config: Config) -> int:
    if config.has("num_key_value_heads") or config.model_type not in _MHA_IF_UNSAID:
        return config.count("num_key_value_heads")
    return config.count("num_attention_heads")


def _kinds(config: Config, unsaid: Callable[[int], bool]) -> list[str]:
    """`layer_types`, or what the architecture's rule says: `unsaid(layer)` is true for a window."""
    layers = config.count("num_hidden_layers")
    if not config.has("layer_types"):
        windowed = (unsaid(layer) for layer in range(layers))
        return ["sliding_attention" if window else "full_attention" for window in windowed]
    kinds: list[str] = config.said("layer_types")
    texts = isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)
    if not texts or len(kinds) != layers:
        raise UsageError(f"config: layer_types is no list of {layers} kinds")
    return kinds


def _attention(config: Config, kinds: list[str]) -> list[Group]:
    heads, values = _kv_heads(config), 2 * _head_dim(config)
    counts = Counter(kinds)
    groups: list[Group] = []
    if full := counts.pop("full_attention", 0):
        groups.append(Layers(full, heads, values))
    if sliding := counts.pop("sliding_attention", 0):
        groups.append(Layers(sliding, heads, values, config.count("sliding_window")))
    if counts:
        raise UsageError(f"config: layers of type {next(iter(counts))!r} are not known")
    return groups


def _full(config: Config) -> list[Group]:
    return _attention(config, _kinds(config, lambda _: False))


def _window_if_set(config: Config) -> list[Group]:
    """One window for all layers; null switches it off, and silence is not null."""
    windowed = config.said("sliding_window") is not None
    return _attention(config, _kinds(config, lambda _: windowed))


def _window_if_switched(config: Config) -> list[Group]:
    """Qwen: windows only where `use_sliding_window`, from layer `max_window_layers` on."""
    if not config.flag("use_sliding_window"):
        return _full(config)
    first = config.count("max_window_layers", least=0)
    return _attention(config, _kinds(config, lambda layer: layer >= first))


def _every_second_window(config: Config) -> list[Group]:
    return _attention(config, _kinds(config, lambda layer: layer % 2 == 0))


def _all_but_every_nth_window(config: Config) -> list[Group]:
    if config.has("layer_types"):
        return _full(config)
    nth = config.count("sliding_window_pattern")
    return _attention(config, _kinds(config, lambda layer: (layer + 1) % nth != 0))


def _stated_kinds(config: Config) -> list[Group]:
    config.said("layer_types")
    return _full(config)


def _latent(config: Config) -> list[Group]:
    values = config.count("kv_lora_rank") + config.count("qk_rope_head_dim")
    return [Layers(config.count("num_hidden_layers"), 1, values)]


def _falcon(config: Config) -> list[Group]:
    if config.said("new_decoder_architecture") is True:
        heads = config.count("num_kv_heads")
    else:
        multi_query = config.said("multi_query") is True
        heads = 1 if multi_query else config.count("num_attention_heads")
    return [Layers(config.count("num_hidden_layers"), heads, 2 * _head_dim(config))]


def _gpt_bigcode(config: Config) -> list[Group]:
    attention_heads = config.count("n_head")
    heads = 1 if config.said("multi_query") is True else attention_heads
    return [Layers(config.count("n_layer"), heads, 2 * (config.count("n_embd") // attention_heads))]


def _gated_delta_net(config: Config) -> list[Group]:
    """Linear layers beside every nth full one.

    A linear layer keeps, in the model's type, the last kernel - 1 inputs of its convolution, and
    one key by value matrix per value head; shards divide its key heads.
    """
    layers, nth = config.count("num_hidden_layers"), config.count("full_attention_interval")
    key_heads, key_dim = (
        config.count("linear_num_key_heads"),
        config.count("linear_key_head_dim"),
    )
    value_heads, value_dim = (
        config.count("linear_num_value_heads"),
        config.count("linear_value_head_dim"),
    )
    kept = config.count("linear_conv_kernel_dim") - 1
    inputs = kept * (2 * key_heads * key_dim + value_heads * value_dim)
    matrices = value_heads * key_dim * value_dim
    state_bytes = inputs * bytes_per_value(config.own_dtype)
    state_bytes += matrices * bytes_per_value(config.state_dtype)
    full = Layers(layers // nth, _kv_heads(config), 2 * _head_dim(config))
    return [full, StateLayers(layers - layers // nth, key_heads, Fraction(state_bytes, key_heads))]


READERS: Final[Mapping[str, Callable[[Config], list[Group]]]] = {
    "llama": _full,
    "opt": _full,
    "gpt_neox": _full,
    "mistral": _window_if_set,
    "mixtral": _window_if_set,
    "phi3": _window_if_set,
    "qwen2": _window_if_switched,
    "qwen2_moe": _window_if_switched,
    "qwen3": _window_if_switched,
    "qwen3_moe": _window_if_switched,
    "gemma2": _every_second_window,
    "gemma3_text": _all_but_every_nth_window,
    "gpt_oss": _stated_kinds,
    "deepseek_v2": _latent,
    "deepseek_v3": _latent,
    "kimi_k2": _latent,
    "falcon": _falcon,
    "gpt_bigcode": _gpt_bigcode,
    "qwen3_next": _gated_delta_net,
}
"""How the layers of each `model_type` are read."""

_MHA_IF_UNSAID: Final = {"llama", "opt", "gpt_neox"}
# Their classes have a default that is not hidden size / heads.
_HEAD_DIM_STATED: Final = {"gemma2", "gemma3_text", "gpt_oss", "qwen3", "qwen3_moe", "qwen3_next"}
