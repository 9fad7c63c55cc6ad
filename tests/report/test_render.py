import signal
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tokengap.report import render
from tokengap.report.render import BOUNDS, Bounds, Picture, RenderError, pictures, script

POINT: Final[dict[str, Any]] = {
    "width": 100,
    "height": 50,
    "data": {"values": [{"a": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "a", "type": "quantitative"}},
}
DRAWS: Final = "vegaEmbed(document.body, {}); '</script'"
MARK: Final = 'aria-roledescription="point"'
STYLE: Final = "text { fill: #123456 }"


def test_a_script_holds_vega_and_cannot_end_its_element() -> None:
    made = script(DRAWS, BOUNDS)
    assert len(made) > 500_000
    assert "</script" not in made


def test_a_chart_becomes_two_pictures_that_share_a_style() -> None:
    (picture,) = pictures([POINT], STYLE, BOUNDS)
    assert isinstance(picture, Picture)
    assert picture.svg.startswith("<svg")
    assert f"<style>{STYLE}</style>" in picture.svg
    assert picture.png.startswith(b"\x89PNG\r\n\x1a\n")


def test_one_chart_that_fails_spoils_no_other() -> None:
    rows: dict[str, Any] = POINT | {"data": {"sequence": {"start": 0, "stop": 10**8, "as": "a"}}}
    first, refused, exhausting, last = pictures(
        [POINT, {"mark": "none"}, rows, POINT], STYLE, Bounds(2**30, BOUNDS.time_s)
    )
    assert isinstance(first, Picture)
    assert isinstance(refused, RenderError)
    assert str(refused).startswith("the renderer failed: Vega-Lite to SVG conversion failed")
    assert isinstance(exhausting, RenderError)
    assert str(exhausting) == "the renderer needed more than 1 GiB of memory"
    assert isinstance(last, Picture)


def test_a_chart_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("a\n1\n", "utf-8")
    addresses = (table.as_uri(), "http://127.0.0.1:9/rows.csv")
    elsewhere = [POINT | {"data": {"url": address}} for address in addresses]
    given, *made = pictures([POINT, *elsewhere], STYLE, BOUNDS)
    assert isinstance(given, Picture)
    assert MARK in given.svg
    assert not any(isinstance(each, Picture) and MARK in each.svg for each in made)


def test_time_is_limited() -> None:
    late = list(pictures([POINT, POINT], STYLE, Bounds(BOUNDS.memory_bytes, 0)))
    assert list(map(str, late)) == 2 * ["the renderer took longer than 0 ns"]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "import os; os.kill(os.getpid(), 9)",
            f"the renderer was stopped by {signal.SIGKILL.name}",
        ),
        ("raise SystemExit('no engine here')", "the renderer failed: no engine here"),
        ("raise SystemExit(7)", "the renderer failed: exit code 7"),
        ("print('{\"script\": \"half', end='')", "the renderer failed: exit code 0"),
    ],
)
def test_whatever_ends_the_renderer_is_said(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renderer = tmp_path / "renderer.py"
    renderer.write_text(program, "utf-8")
    monkeypatch.setattr(render, "_RENDERER", renderer)
    with pytest.raises(RenderError) as told:
        script("unseen", Bounds(1, BOUNDS.time_s))
    assert str(told.value) == reason


def test_a_renderer_that_cannot_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RenderError, match="could not be started"):
        script("unseen either", BOUNDS)
