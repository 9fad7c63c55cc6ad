"""Fields of a Hugging Face `config.json`: of their kind, or an error that names them."""

from collections.abc import Mapping
from typing import Any, Final

from tokengap.errors import UsageError

MOST: Final = 10**9
"""No count of a model or a prompt is larger, and products stay numbers that can be shown."""
_DTYPES: Final = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_DTYPE_KEYS: Final = ("torch_dtype", "dtype")


class Config:
    """The fields of one configuration; a missing one is an error that names it."""

    def __init__(self, fields: Mapping[str, Any], state_dtype: str | None) -> None:
        self._fields = _text_part(fields)
        self._state_dtype = state_dtype
        self.model_type = self._text("model_type")

    def has(self, key: str) -> bool:
        """The field is there, and not null."""
        return self._fields.get(key) is not None

    def count(self, key: str, *, least: int = 1) -> int:
        """A whole number of `least` or more. UsageError if it is missing or anything else."""
        value = self._need(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
            raise UsageError(
                f"config: {key} = {value!r}; expected a whole number from {least} to {MOST}"
            )
        return value

    def said(self, key: str) -> Any:
        """The field whatever it is, null too. UsageError only if it is not there."""
        if key not in self._fields:
            self._need(key)
        return self._fields[key]

    def flag(self, key: str) -> bool:
        """True only where the field says so."""
        return self._fields.get(key) is True

    @property
    def own_dtype(self) -> str:
        """Type of the model's values, as a key of `BYTES_PER_VALUE`."""
        named = next((self._fields[key] for key in _DTYPE_KEYS if self.has(key)), None)
        if named not in _DTYPES:
            raise UsageError(f"config: torch_dtype = {named!r}; give the type of the cache")
        return _DTYPES[named]

    @property
    def state_dtype(self) -> str:
        """Type of the state of linear layers, as a key of `BYTES_PER_VALUE`."""
        if self._state_dtype is not None:
            return self._state_dtype
        named = self._fields.get("mamba_ssm_dtype")
        if named not in _DTYPES:
            raise UsageError("config: no mamba_ssm_dtype; give the type of the linear state")
        return _DTYPES[named]

    def _text(self, key: str) -> str:
        value = self._need(key)
        if not isinstance(value, str):
            raise UsageError(f"config: {key} = {value!r}; expected a text")
        return value

    def _need(self, key: str) -> Any:
        if not self.has(key):
            of = "" if key == "model_type" else f" of {self.model_type}"
            raise UsageError(f"config{of}: {key} is missing, and decides the size of the cache")
        return self._fields[key]


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A multimodal model nests its language model, whose type may stand outside."""
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        return config
    return {**{key: config[key] for key in _DTYPE_KEYS if key in config}, **text}
