"""Options that describe a cache, and the cache they mean together."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.options import gathering
from tokengap.errors import InputError, UsageError
from tokengap.handoff import MODELS, Cache, cache_of, gqa, mla, model
from tokengap.handoff.fields import MOST
from tokengap.handoff.kv import BYTES_PER_VALUE, bytes_per_value


def count(said: str | int) -> int:
    """A whole number from 1 to `MOST`, as an option's type: a range would clutter its help."""
    text = str(said)
    whole = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST))
    if not whole or not 1 <= int(text) <= MOST:
        raise click.BadParameter(f"{text!r} is no whole number from 1 to {MOST}")
    return int(text)


_TYPES: Final = click.Choice(list(BYTES_PER_VALUE))
_DESCRIBING: Final = (
    click.option("--model", metavar="NAME", help=f"One of {', '.join(MODELS)}."),
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The model's config.json of Hugging Face.",
    ),
    click.option("--layers", type=count, metavar="N", help="Layers, where no model is given."),
    click.option("--kv-heads", type=count, metavar="N", help="KV heads (not attention heads)."),
    click.option("--head-dim", type=count, metavar="N", help="Values of one head."),
    click.option("--kv-lora-rank", type=count, metavar="N", help="Values of the latent of MLA."),
    click.option("--rope-dim", type=count, metavar="N", help="Values of its rotary key."),
    click.option("--kv-dtype", type=_TYPES, help="Type of the cache, if not the model's own."),
    click.option("--state-dtype", type=_TYPES, help="Type of the state of linear layers."),
    click.option(
        "--block",
        type=count,
        default=1,
        show_default=True,
        metavar="N",
        help="Tokens of a block, to which a prompt is rounded up.",
    ),
)


@dataclass(frozen=True)
class Described:
    """What was said of a model's cache; None where nothing was."""

    model: str | None
    config: Path | None
    layers: int | None
    kv_heads: int | None
    head_dim: int | None
    kv_lora_rank: int | None
    rope_dim: int | None
    kv_dtype: str | None
    state_dtype: str | None
    block: int

    def cache(self) -> Cache | None:
        """The cache that is meant; None if nothing says how large a token is.

        UsageError if two ways are mixed, or a number is missing. InputError for an unusable file.
        """
        numbers = (self.head_dim, self.kv_lora_rank, self.rope_dim)
        ways = [self.model is not None, self.config is not None, any(numbers)]
        if sum(ways) > 1 or (sum(ways[:2]) and (self.layers or self.kv_heads)):
            raise UsageError("--model, --config and numbers exclude each other; keep one")
        if self.model is not None:
            return cache_of(model(self.model).config, self.kv_dtype, self.state_dtype)
        if self.config is not None:
            return cache_of(_read(self.config), self.kv_dtype, self.state_dtype)
        return self._of_numbers() if any(numbers) else None

    @property
    def source(self) -> str | None:
        """Where the model's numbers are from; None where they were given."""
        if self.model is not None:
            return f"config.json of {model(self.model).source} on Hugging Face"
        return None if self.config is None else str(self.config)

    def _of_numbers(self) -> Cache:
        if self.head_dim is not None:
            if self.kv_lora_rank or self.rope_dim:
                raise UsageError(
                    "--head-dim is of keys and values, --kv-lora-rank of MLA: keep one"
                )
            return gqa(
                _needed(self.layers, "--layers"),
                _needed(self.kv_heads, "--kv-heads"),
                self.head_dim,
                self._bytes_per_value(),
            )
        return mla(
            _needed(self.layers, "--layers"),
            _needed(self.kv_lora_rank, "--kv-lora-rank"),
            _needed(self.rope_dim, "--rope-dim"),
            self._bytes_per_value(),
        )

    def _bytes_per_value(self) -> Fraction:
        if self.kv_dtype is None:
            raise UsageError(f"--kv-dtype is missing; one of {', '.join(BYTES_PER_VALUE)}")
        return bytes_per_value(self.kv_dtype)


describing = gathering(Described, "described", Described.__dataclass_fields__, _DESCRIBING)
"""Options on a model's cache, which the command gets together as `described`."""


def _needed(value: int | None, option: str) -> int:
    if value is None:
        raise UsageError(f"{option} is missing, and decides the size of the cache")
    return value


def _read(path: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); expected a model's config.json") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: no JSON object; expected a model's config.json")
    return config
