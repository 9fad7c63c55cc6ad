"""What of a budget can be varied: each parameter by name, and how it is put into a case."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from tokengap.errors import UsageError
from tokengap.handoff.budget import Handoff
from tokengap.handoff.kv import Cache
from tokengap.handoff.links import Exact, FixedOverlap, LayerOverlap


@dataclass(frozen=True)
class Case:
    """A handoff, and how long the response is that it begins."""

    handoff: Handoff
    output_tokens: int


@dataclass(frozen=True)
class Parameter:
    """One quantity of a case.

    unit: bytes, bytes_per_s, ns, tokens or transfers; the last two are whole numbers.
    """

    name: str
    unit: str
    put: Callable[[Case, Exact], Case]

    @property
    def key(self) -> str:
        """Its name in JSON and CSV, with the unit.

        >>> PARAMETERS["bandwidth"].key, PARAMETERS["transfers"].key
        ('bandwidth_bytes_per_s', 'transfers')
        """
        name = self.name.replace("-", "_")
        return name if name.endswith(self.unit) else f"{name}_{self.unit}"

    @property
    def is_count(self) -> bool:
        """Only whole numbers of 1 or more make sense."""
        return self.unit in ("tokens", "transfers")


def _with(case: Case, **changed: Any) -> Case:
    return replace(case, handoff=replace(case.handoff, **changed))


def _prefill(case: Case, value: Exact) -> Case:
    """The prefill is also what an overlap by layer runs behind."""
    overlap = case.handoff.overlap
    if isinstance(overlap, LayerOverlap):
        overlap = replace(overlap, prefill_ns=value)
    return _with(case, prefill_ns=value, overlap=overlap)


def _overlap(case: Case, value: Exact) -> Case:
    if isinstance(case.handoff.overlap, LayerOverlap):
        raise UsageError("an overlap by layer follows from the prefill; it is no axis of its own")
    return _with(case, overlap=FixedOverlap(value))


def _bandwidth(case: Case, value: Exact) -> Case:
    return _with(case, link=replace(case.handoff.link, bandwidth_bytes_per_s=value))


def _transfers(case: Case, value: Exact) -> Case:
    return _with(case, link=replace(case.handoff.link, transfers=int(value)))


PARAMETERS: Final = {
    parameter.name: parameter
    for parameter in (
        Parameter("cache", "bytes", lambda case, value: _with(case, cache_bytes=value)),
        Parameter("bandwidth", "bytes_per_s", _bandwidth),
        Parameter("prefill", "ns", _prefill),
        Parameter("step", "ns", lambda case, value: _with(case, step_ns=value)),
        Parameter("overhead", "ns", lambda case, value: _with(case, overhead_ns=value)),
        Parameter("overlap", "ns", _overlap),
        Parameter("transfers", "transfers", _transfers),
        Parameter(
            "output-tokens",
            "tokens",
            lambda case, value: replace(case, output_tokens=int(value)),
        ),
    )
}


def prompt_parameter(cache: Cache, block_tokens: int) -> Parameter:
    """Prompt tokens of a model: they decide the cache, and only the cache."""

    def put(case: Case, value: Exact) -> Case:
        size: Fraction = cache.prompt_bytes(int(value), block_tokens=block_tokens)
        return _with(case, cache_bytes=size)

    return Parameter("prompt", "tokens", put)
