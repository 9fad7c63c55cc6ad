"""Common models, by the fields of their `config.json` that decide the size of the cache.

Layers, heads and windows are what the file says. The type is the 16 bits the model is served in,
also where its weights are stored in another one (float32 for gemma-2-27b).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tokengap.errors import UsageError


@dataclass(frozen=True)
class Model:
    """A model, and where its numbers come from."""

    source: str
    """Repository on Hugging Face whose `config.json` gives layers, heads and windows."""
    config: Mapping[str, Any]


def model(name: str) -> Model:
    """The model of this name. UsageError if the table has none."""
    if name not in MODELS:
        raise UsageError(
            f"no model is called {name!r}; known: {', '.join(MODELS)}; "
            "any other: give its config.json"
        )
    return MODELS[name]


def _dense(
    model_type: str, layers: int, hidden: int, heads: int, kv_heads: int, **more: Any
) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "torch_dtype": "bfloat16",
        **more,
    }


def _latent(model_type: str, layers: int) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "torch_dtype": "bfloat16",
    }


MODELS: Final[Mapping[str, Model]] = {
    "llama-3-8b": Model("meta-llama/Meta-Llama-3-8B", _dense("llama", 32, 4096, 32, 8)),
    "llama-3-70b": Model("meta-llama/Meta-Llama-3-70B", _dense("llama", 80, 8192, 64, 8)),
    "llama-3.1-405b": Model("meta-llama/Llama-3.1-405B", _dense("llama", 126, 16384, 128, 8)),
    "opt-13b": Model("facebook/opt-13b", _dense("opt", 40, 5120, 40, 40, torch_dtype="float16")),
    "opt-66b": Model("facebook/opt-66b", _dense("opt", 64, 9216, 72, 72, torch_dtype="float16")),
    "mistral-7b-v0.1": Model(
        "mistralai/Mistral-7B-v0.1", _dense("mistral", 32, 4096, 32, 8, sliding_window=4096)
    ),
    "mixtral-8x7b": Model(
        "mistralai/Mixtral-8x7B-v0.1", _dense("mixtral", 32, 4096, 32, 8, sliding_window=None)
    ),
    "qwen2.5-7b": Model("Qwen/Qwen2.5-7B", _dense("qwen2", 28, 3584, 28, 4)),
    "qwen2.5-72b": Model("Qwen/Qwen2.5-72B", _dense("qwen2", 80, 8192, 64, 8)),
    "qwen3-235b-a22b": Model(
        "Qwen/Qwen3-235B-A22B", _dense("qwen3_moe", 94, 4096, 64, 4, head_dim=128)
    ),
    "gemma-2-27b": Model(
        "google/gemma-2-27b",
        _dense("gemma2", 46, 4608, 32, 16, head_dim=128, sliding_window=4096),
    ),
    "gpt-oss-120b": Model(
        "openai/gpt-oss-120b",
        _dense(
            "gpt_oss",
            *(36, 2880, 64, 8),
            head_dim=64,
            sliding_window=128,
            layer_types=["sliding_attention", "full_attention"] * 18,
        ),
    ),
    "deepseek-v3": Model("deepseek-ai/DeepSeek-V3", _latent("deepseek_v3", 61)),
    "kimi-k2": Model("moonshotai/Kimi-K2-Instruct", _latent("kimi_k2", 61)),
}
"""By the name the command line takes."""
