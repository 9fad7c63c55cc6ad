"""Arrivals and lengths from distributions, the same ones on every machine.

A window's arrivals are as many as its rate says. The intervals before, between and after them are
drawn from its distribution, of the given shape, and stretched to fill the window exactly: the rate
is kept, and the bunching is that of the shape. Prompt and answer length are drawn independently of
each other, because a file gives the shares of each alone.

The seed is the client's number and the window's start. NumPy's older generator is used: its streams
are frozen, and those of the newer one are not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tokengap.adapters.deliveries import Ints
from tokengap.adapters.shared.lines import LineError

GAMMA: Final = "Gamma"
WEIBULL: Final = "Weibull"

_NS_PER_S: Final = 1_000_000_000
_MEDIA: Final = ("image", "audio", "video")
_PROMPT: Final = ("input_tokens", "text_tokens")
_OUTPUT: Final = "output_tokens"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Whole numbers, and their shares added up to 1."""

    values: Ints
    cumulated: Floats

    @classmethod
    def parse(cls, text: str) -> "Distribution | None":
        """Read `{number: share, ...}`; None if there is none in it, ValueError if it is no such."""
        bare = text.strip().removeprefix("{").removesuffix("}")
        if not bare.strip():
            return None
        flat = np.array(bare.replace(":", ",").split(","), np.float64)
        values, shares = flat[::2], flat[1::2]
        if len(values) != len(shares):
            raise ValueError("a share is missing")
        if not ((values >= 0).all() and (values == np.rint(values)).all()):
            raise ValueError("whole numbers from 0 expected")
        if not ((shares >= 0).all() and 0 < shares.sum() < np.inf):
            raise ValueError("shares from 0, and not all 0, expected")
        return cls(values.astype(np.int64), np.cumsum(shares) / shares.sum())

    def draw(self, chance: np.random.RandomState, size: int) -> Ints:
        """So many of the numbers."""
        at = np.searchsorted(self.cumulated, chance.random_sample(size), side="right")
        return self.values[np.minimum(at, len(self.values) - 1)]


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long a client's requests are during one period.

    media: how many images, recordings and films a prompt has, and how many tokens each of them.
    """

    prompt: Distribution
    output: Distribution
    media: Sequence[tuple[Distribution, Distribution]] = ()

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "Lengths | None":
        """Read one period; None if nothing was sent in it, ValueError if it is no such."""
        parsed = {name: Distribution.parse(text) for name, text in texts.items() if name in _READ}
        found = {name: each for name, each in parsed.items() if each is not None}
        if not found:
            return None
        prompt = next((found[name] for name in _PROMPT if name in found), None)
        output = found.get(_OUTPUT)
        if prompt is None or output is None:
            raise ValueError("lengths of prompts and of answers expected")
        media = [
            (found[f"{medium}_count"], found[f"{medium}_tokens"])
            for medium in _MEDIA
            if {f"{medium}_count", f"{medium}_tokens"} <= found.keys()
        ]
        return cls(prompt, output, media)

    def draw(self, chance: np.random.RandomState, size: int) -> tuple[Ints, Ints]:
        """Tokens of so many prompts, whatever is in them, and of their answers."""
        prompt, output = self.prompt.draw(chance, size), self.output.draw(chance, size)
        for count, tokens in self.media:
            owner = np.repeat(np.arange(size), count.draw(chance, size))
            each = tokens.draw(chance, len(owner))
            prompt = prompt + np.bincount(owner, each, size).astype(np.int64)
        return prompt, output


_READ: Final = {*_PROMPT, _OUTPUT, *(f"{m}_{what}" for m in _MEDIA for what in ("count", "tokens"))}


@dataclass(frozen=True, slots=True)
class Window:
    """How a client's requests arrive during some seconds: `shape` is one of GAMMA or WEIBULL."""

    start_ns: int
    duration_ns: int
    rate_per_s: float
    pattern: str
    shape: float

    @property
    def size(self) -> int:
        """Number of requests."""
        return round(self.rate_per_s * self.duration_ns / _NS_PER_S)

    def chance(self, client: int) -> np.random.RandomState:
        """What decides the requests that one client sends in it."""
        return np.random.RandomState(np.random.MT19937([client, self.start_ns // _NS_PER_S]))

    def arrivals_ns(self, chance: np.random.RandomState) -> Ints:
        """When its requests arrive, in order; LineError if the shape gives no intervals."""
        draw = chance.standard_gamma if self.pattern == GAMMA else chance.weibull
        ends: Floats = np.cumsum(draw(self.shape, self.size + 1))
        if not ends[-1] > 0:
            raise LineError("shape: all intervals drawn from it are 0", "shape", self.shape)
        into_ns: Ints = np.rint(ends[:-1] / ends[-1] * self.duration_ns).astype(np.int64)
        return into_ns + self.start_ns
