"""Machines from a TOML file: what one worker takes, and how long its steps are.

    [a100]
    gpus = 2
    cost_per_hour = 4.4
    prefill = { fixed_ms = 27.4, token_ms = 0.0905, square_ms = 8.45e-6 }
    decode = { fixed_ms = 24.5, token_ms = 0.000224, request_ms = 0.0872 }

`large = {...}` with `large_from` is the fit of large batches; `prefill_table` and `decode_table`
stand for coefficients where steps were measured.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import asdict

from tokengap.errors import UsageError
from tokengap.replay.service import (
    LARGE_BATCH,
    DecodeFit,
    DecodeTable,
    PrefillFit,
    PrefillTable,
    ServiceModel,
)
from tokengap.replay.sweep.arms import Machine
from tokengap.units import parse_bytes

Fit = TypeVar("Fit")
Table = TypeVar("Table")


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    """Keys that are not known are errors."""


class PrefillKeys(_Strict):
    """Coefficients of a prefill."""

    fixed_ms: float
    token_ms: float
    square_ms: float = 0.0


class DecodeKeys(_Strict):
    """Coefficients of a decode step."""

    fixed_ms: float
    token_ms: float
    request_ms: float


class PrefillTableKeys(_Strict):
    """Measured prefills."""

    tokens: list[int]
    times_ms: list[float]


class DecodeTableKeys(_Strict):
    """Measured decode steps: a row for each batch, a column for each number of tokens."""

    batches: list[int]
    tokens: list[int]
    times_ms: list[list[float]]


class MachineKeys(_Strict):
    """One table of the file."""

    prefill: PrefillKeys | None = None
    decode: DecodeKeys | None = None
    prefill_table: PrefillTableKeys | None = None
    decode_table: DecodeTableKeys | None = None
    large: DecodeKeys | None = None
    large_from: int = LARGE_BATCH
    mixed: Literal["max", "sum"] = "max"
    gpus: int = 1
    cost_per_hour: float | None = None
    power_watts: float | None = None
    kv_capacity_tokens: int | None = None
    memory: str | None = None


def read_machines(path: Path) -> list[Machine]:
    """Machines in the order of the file. UsageError that names what is wrong, and where."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from error
    if not document:
        raise UsageError(f"{path}: no machine; write a table such as [a100] with its coefficients")
    return [_machine(path, name, keys) for name, keys in document.items()]


def _machine(path: Path, name: str, keys: Any) -> Machine:
    try:
        said = msgspec.convert(keys, MachineKeys, strict=True)
        return Machine(
            name,
            _model(said),
            gpus=said.gpus,
            cost_per_hour=said.cost_per_hour,
            power_watts=said.power_watts,
            kv_capacity_tokens=said.kv_capacity_tokens,
            memory_bytes=None if said.memory is None else parse_bytes(said.memory),
        )
    except (msgspec.ValidationError, UsageError) as error:
        raise UsageError(f"{path}: [{name}]: {error}") from error


def _model(said: MachineKeys) -> ServiceModel:
    return ServiceModel(
        _made(PrefillFit, PrefillTable, said.prefill, said.prefill_table, "prefill"),
        _made(DecodeFit, DecodeTable, said.decode, said.decode_table, "decode"),
        None if said.large is None else DecodeFit(**asdict(said.large)),
        said.large_from,
        said.mixed,
    )


def _made(
    of_fit: Callable[..., Fit],
    of_table: Callable[..., Table],
    fit: _Strict | None,
    table: _Strict | None,
    name: str,
) -> Fit | Table:
    """The one of the two that was said."""
    if fit is not None and table is None:
        return of_fit(**asdict(fit))
    if table is not None and fit is None:
        return of_table(**asdict(table))
    raise UsageError(f"give either {name} or {name}_table: how long its steps take")
