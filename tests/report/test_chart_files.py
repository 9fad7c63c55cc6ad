import json
import re
from pathlib import Path

import pytest

from tests.cli.running import SAMPLES, tokengap
from tests.report.auditing import LIMITS, ONE_OF_EACH, request, text_of
from tests.report.reading import specification
from tokengap.report import render
from tokengap.report.chart_legend import WIDTH, legend_layers
from tokengap.report.resolved import light, resolved
from tokengap.report.section import Key
from tokengap.report.theme import PLACES


@pytest.fixture
def folder(harmless: Path) -> Path:
    return harmless / "charts"


def test_every_chart_is_there_in_three_forms(folder: Path) -> None:
    names = {path.name.split(".")[0] for path in folder.iterdir()}
    assert {"average_against_worst", "gap_survival"} <= names
    assert {path.name for path in folder.iterdir()} == {
        name + form for name in names for form in (".png", ".svg", ".vl.json")
    }
    for name in names:
        png = (folder / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert int.from_bytes(png[16:20]) > 2 * WIDTH  # width, at two pixels per unit
        assert (folder / f"{name}.svg").read_text("utf-8").startswith("<svg")


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all that a report can show: three views, workers, stages, the handoff."""
    folder = tmp_path_factory.mktemp("split")
    logs = ("vllm-bench/bench_pd_forward", "proxy-log/proxy_pd_forward", "otlp/otlp_spans_pd")
    ends = (".json.gz", ".jsonl.gz", ".jsonl.gz")
    paths = [str(SAMPLES / f"{log}{end}") for log, end in zip(logs, ends, strict=True)]
    joined = ("--same-clock", "--id-prefix", "bench_pd_forward=pdf-", *LIMITS)
    assert tokengap("audit", *paths, *joined, "--charts", str(folder)).code == 0
    return folder


def test_a_file_needs_nothing_of_the_page(folder: Path, split: Path) -> None:
    assert (split / "handoff_stages.vl.json").is_file()
    for path in [*folder.glob("*.vl.json"), *split.glob("*.vl.json")]:
        text = path.read_text("utf-8")
        assert "var(--" not in text
        assert '"container"' not in text
    for path in [*folder.glob("*.svg"), *split.glob("*.svg")]:
        text = path.read_text("utf-8")
        assert "var(--" not in text
        assert not re.search(r'(href|src)="|url\(http|@import', text)


def test_colours_are_those_of_the_light_theme_on_white(folder: Path) -> None:
    assert light()["card"] == "#ffffff"
    spec = specification(folder / "average_against_worst.vl.json")
    assert spec["config"]["background"] == "#ffffff"
    assert light()["hidden"] in json.dumps(spec)
    assert light()["hidden"] in (folder / "average_against_worst.svg").read_text("utf-8")


def test_a_file_says_what_the_page_says_over_the_chart(folder: Path) -> None:
    spec = specification(folder / "average_against_worst.vl.json")
    assert spec["title"]["text"] == "Average against worst gap"
    assert spec["title"]["subtitle"] == (
        "n 6 completed requests, per request · client, times from sent · window 1.4 s, by start"
    )
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v")


def test_the_legend_is_drawn_below_the_plot_with_the_marks_of_the_chart(folder: Path) -> None:
    spec = specification(folder / "average_against_worst.vl.json")
    keys = [layer for layer in spec["layer"] if "values" in layer["data"]]
    said = [row["says"] for layer in keys[1::2] for row in layer["data"]["values"]]
    assert said == [
        "possible hidden stall: the log does not decide one of the two verdicts: 1",
        "verdict not decided by the log: 1",
    ]
    assert [layer["mark"]["stroke"] for layer in keys[::2]] == [
        light()["hidden"], light()["undecided"],
    ]  # fmt: skip
    assert all(layer["encoding"]["y"]["value"] > spec["height"] for layer in keys)


def test_text_with_marks_in_it_is_drawn_in_a_font_that_has_them(folder: Path) -> None:
    spec = specification(folder / "promises.vl.json")
    marks = [layer["mark"] for layer in spec["layer"] if layer["mark"].get("text")]
    fonts = {str(mark["text"]): mark.get("font") for mark in marks}
    (with_marks,) = (text for text in fonts if "◆" in text)
    assert str(fonts.pop(with_marks)).startswith("DejaVu Sans")
    assert set(fonts.values()) == {None}


def test_rows_change_only_where_a_channel_draws_them_as_colours() -> None:
    row = {"look": "var(--met)", "name": "var(--met)"}
    spec = {
        "datasets": {"rows": [row]},
        "layer": [{"encoding": {"fill": {"field": "look", "scale": None}}, "width": "container"}],
    }
    made = resolved(spec, {"met": "#123456"})
    assert made["datasets"]["rows"] == [{"look": "#123456", "name": "var(--met)"}]
    assert made["layer"][0]["width"] == WIDTH
    scaled = spec | {"layer": [{"encoding": {"fill": {"field": "look"}}}]}
    assert resolved(scaled, {"met": "#123456"})["datasets"]["rows"] == [row]


def test_a_long_legend_goes_on_in_the_next_line() -> None:
    keys = [Key(PLACES["meets"], "a" * 50, "1") for _ in range(3)]  # some 390 pixels each
    marks = legend_layers(keys, 100)[::2]
    at = [tuple(layer["encoding"][axis]["value"] for axis in "xy") for layer in marks]
    assert at[0][1] == at[1][1] < at[2][1]
    assert at[0][0] == at[2][0] < at[1][0] < WIDTH


def test_text_of_a_log_is_no_colour(tmp_path: Path) -> None:
    log = [request("var(--ink)", [10] * 19 + [610])]
    text_of(tmp_path, log, *LIMITS, "--charts", str(tmp_path / "charts"))
    spec = specification(tmp_path / "charts" / "average_against_worst.vl.json")
    named = [row for rows in spec["datasets"].values() for row in rows if "request" in row]
    assert [row["request"] for row in named] == ["var(--ink)"]


def test_a_chart_that_cannot_be_drawn_is_said_and_keeps_its_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "BOUNDS", render.Bounds(memory_bytes=64 * 2**20, time_s=120))
    folder = tmp_path / "charts"
    told = text_of(tmp_path, ONE_OF_EACH, *LIMITS, "--charts", str(folder), "--md", "-")
    assert {path.name for path in folder.iterdir()} == {
        f"{path.name.split('.')[0]}.vl.json" for path in folder.iterdir()
    }
    assert "No chart: the renderer needed more than 64 MiB of memory." in told
