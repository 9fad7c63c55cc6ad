"""A legend drawn as part of a chart, for files: the page writes it beside the chart."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tokengap.report.layers import Spec
from tokengap.report.section import Key

WIDTH: Final = 860  # pixels, of a chart in a file
_BELOW: Final = 74  # pixels from the plot to the first line: the axis and its title lie between
_LINE: Final = 22  # pixels from line to line
_LETTER: Final = 6.4  # pixels, on average
_ROOM: Final = 48  # pixels of a key beside its letters: the mark, and the way to the next key


def legend_layers(keys: Sequence[Key], height: int) -> list[Spec]:
    """Layers under a plot of this height: each key with its mark, line by line."""
    layers: list[Spec] = []
    for key, (x, y) in zip(keys, _places(keys), strict=True):
        at = {"x": {"value": x}, "y": {"value": height + _BELOW + y}}
        data = {"values": [{"says": _says(key)}]}
        mark = {"type": "point", "shape": key.place.path, "size": 90, "strokeWidth": 1.5}
        mark |= {"fill": key.place.fill, "stroke": key.place.colour, "opacity": 1}
        text: dict[str, Any] = {"type": "text", "align": "left", "baseline": "middle", "dx": 13}
        said = at | {"text": {"field": "says", "type": "nominal"}}
        layers += [
            {"data": data, "mark": mark, "encoding": at},
            {"data": data, "mark": text | {"fontSize": 12}, "encoding": said},
        ]
    return layers


def _says(key: Key) -> str:
    return f"{key.says}: {key.count}"


def _places(keys: Sequence[Key]) -> Iterator[tuple[float, int]]:
    """Where each key goes: on with the line while there is room, else on the next."""
    x, y = 0.0, 0
    for key in keys:
        wide = len(_says(key)) * _LETTER + _ROOM
        if x and x + wide > WIDTH:
            x, y = 0.0, y + _LINE
        yield x + 8, y
        x += wide
