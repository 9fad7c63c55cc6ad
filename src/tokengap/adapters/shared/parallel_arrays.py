"""Benchmark results as parallel arrays, one entry per request in each; durations in float seconds.

Each duration is rounded to ns by itself, so gaps are stored as the file has them. A first-token
time of 0 or `NOT_MEASURED` stands for none: failed requests are rows of default values.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from tokengap.adapters.deliveries import Bools, Ints, running_times
from tokengap.adapters.shared.lines import LineError, shaped
from tokengap.adapters.shared.openai import Count
from tokengap.adapters.shared.seconds import NS_PER_S, seconds_ns
from tokengap.schema import TIME_LIMIT_NS

Floats = npt.NDArray[np.float64]
Refuse = Callable[[int, LineError], None]

NOT_MEASURED: Final = -1.0


class Entry(msgspec.Struct):
    """One request's entry of each array; seconds."""

    input_lens: Count
    output_lens: Count
    ttfts: float
    itls: list[float]
    errors: str
    e2els: float = 0.0

    def check(self) -> None:
        """LineError if a duration is none, or gaps have no first token to follow."""
        seconds_ns(self.e2els, "e2els")
        ttft_ns = seconds_ns(self.ttfts, "ttfts")
        if self.ttfts <= 0 and (self.itls or self.ttfts not in (0, NOT_MEASURED)):
            raise LineError("ttfts: a time above 0 expected", "ttfts", self.ttfts)
        if not ttft_ns + sum(map(abs, self.itls)) * NS_PER_S <= TIME_LIMIT_NS:  # nor if NaN
            raise LineError("itls: seconds expected", "itls")


@dataclass(frozen=True)
class Requests:
    """Requests of a run that can be used. rows: their places in its arrays, which have `entries`.

    gaps_s: the gaps of all of them end to end; request r has `sizes[r]`. e2els_s: 0 if not known.
    others_s: the arrays that the run has of further fields.
    """

    entries: int
    rows: Ints
    input_lens: list[int]
    output_lens: Ints
    errors: list[str]
    ttfts_s: Floats
    e2els_s: Floats
    sizes: Ints
    gaps_s: Floats
    others_s: Mapping[str, Floats]

    @cached_property
    def begun(self) -> Bools:
        """Requests of which an event came."""
        begun: Bools = self.ttfts_s > 0
        return begun

    @cached_property
    def offsets(self) -> Ints:
        """Events of request r are `offsets[r]:offsets[r + 1]` of all."""
        offsets: Ints = np.concatenate(([0], np.cumsum(self.sizes + self.begun)))
        return offsets

    def event_times_ns(self) -> Ints:
        """When each event came, since its request was sent."""
        first_ns = rounded_ns(self.ttfts_s[self.begun])
        return running_times(first_ns, rounded_ns(self.gaps_s), self.sizes[self.begun])

    @property
    def are_sound(self) -> bool:
        """Whether all of them would pass `Entry.check`; False where that is not sure."""
        idle = (self.ttfts_s == 0) | (self.ttfts_s == NOT_MEASURED)
        gap_s, *other_s = (
            np.abs(seconds).max(initial=0)
            for seconds in (self.gaps_s, self.ttfts_s, self.e2els_s, *self.others_s.values())
        )
        most_s = gap_s * self.sizes.max(initial=0) + sum(other_s)
        sound = most_s <= TIME_LIMIT_NS / NS_PER_S and (self.begun | idle).all()
        return bool(sound) and not self.sizes[idle].any()


def rounded_ns(seconds: Floats) -> Ints:
    """Return durations in ns, each rounded by itself."""
    rounded: Ints = np.rint(seconds * NS_PER_S).astype(np.int64)
    return rounded


def requests(
    values: Mapping[str, msgspec.Raw],
    advice: str,
    refuse: Refuse,
    shape: type[Entry] = Entry,
) -> Requests:
    """Return the requests of a run, whose arrays have the names of `shape`.

    shape: `Entry`, or that with further fields in seconds, which have to pass its `check` where
    all seconds of a request add up to less than `TIME_LIMIT_NS`.
    LineError if an array is missing, with `advice` how to get it, or if they do not fit together.
    `refuse` is told of each request that cannot be used, by its place.
    """
    arrays, typed = _arrays(values, advice, shape)
    rows: Sequence[int] = range(len(arrays["ttfts"]))
    found = _requests(arrays, len(rows), rows) if typed else None
    if found is None or not found.are_sound:
        usable = list(_usable(arrays, refuse, shape))
        kept = {name: [array[row] for row in usable] for name, array in arrays.items()}
        found = _requests(kept, len(rows), usable)
    return found


@cache
def _columns(shape: type[Entry]) -> dict[str, Any]:
    fields = msgspec.structs.fields(shape)
    return {f.name: msgspec.json.Decoder(list[f.type]) for f in fields}  # type: ignore[name-defined]


def _arrays(
    values: Mapping[str, msgspec.Raw], advice: str, shape: type[Entry]
) -> tuple[dict[str, list[Any]], bool]:
    """Return each array, and whether every entry has its type."""
    required = [field.name for field in msgspec.structs.fields(shape) if field.required]
    if missing := [name for name in required if name not in values]:
        raise LineError(
            f"{', '.join(missing)} missing, so it holds no gap of any request; {advice}"
        )
    arrays, typed = {}, True
    for name, decoder in _columns(shape).items():
        if name in values:
            try:
                arrays[name] = decoder.decode(values[name])
            except msgspec.ValidationError:
                arrays[name], typed = json.loads(bytes(values[name])), False
    if none := [name for name, array in arrays.items() if not isinstance(array, list)]:
        raise LineError(f"{none[0]}: an array with one entry per request expected", none[0])
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise LineError(f"arrays of unequal length ({lengths}): the file is damaged")
    return arrays, typed


def _requests(arrays: Mapping[str, list[Any]], entries: int, rows: Sequence[int]) -> Requests:
    itls = arrays["itls"]
    sizes = np.fromiter(map(len, itls), np.int64, len(itls))
    return Requests(
        entries=entries,
        rows=np.array(rows, np.int64),
        input_lens=arrays["input_lens"],
        output_lens=np.array(arrays["output_lens"], np.int64),
        errors=arrays["errors"],
        ttfts_s=np.array(arrays["ttfts"], np.float64),
        e2els_s=np.array(arrays.get("e2els", [0.0] * len(rows)), np.float64),
        sizes=sizes,
        gaps_s=np.fromiter(chain.from_iterable(itls), np.float64, int(sizes.sum())),
        others_s={
            name: np.array(values, np.float64)
            for name, values in arrays.items()
            if name not in Entry.__struct_fields__
        },
    )


def _usable(arrays: Mapping[str, list[Any]], refuse: Refuse, shape: type[Entry]) -> Iterator[int]:
    for row, entry in enumerate(zip(*arrays.values(), strict=True)):
        try:
            shaped(dict(zip(arrays, entry, strict=True)), shape).check()
        except LineError as error:
            refuse(row, error)
        else:
            yield row
