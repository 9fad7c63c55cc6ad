import hashlib
import json
from dataclasses import astuple
from pathlib import Path

import pytest

from tests.adapters.reading import SAMPLES
from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Clock, Head, Intake, wants
from tokengap.adapters.source import Line, Source

NAMES = [adapter.name for adapter in ADAPTERS]
LOGS = sorted(
    path
    for name in NAMES
    for path in (SAMPLES / name).glob("**/*.json*")
    if not path.name.startswith("truth")
)
TRUTHS = sorted(SAMPLES.glob("*/**/truth.jsonl.gz"))


def recognised(path: Path) -> list[str]:
    head = Head(Source(str(path), path).head)
    return [adapter.name for adapter in ADAPTERS if adapter.sniff(head).matches]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_every_sample_is_recognised_as_its_folder_says(path: Path) -> None:
    assert recognised(path) == [path.relative_to(SAMPLES).parts[0]]


@pytest.mark.parametrize("path", TRUTHS, ids=lambda path: path.parent.name)
def test_what_the_server_did_is_no_log(path: Path) -> None:
    assert recognised(path) == []


def test_there_are_samples() -> None:
    assert len(LOGS) >= 33
    assert len(TRUTHS) >= 8


def test_adapters_differ_in_name_and_supersede_known_ones() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for adapter in ADAPTERS:
        assert set(adapter.supersedes) <= set(NAMES) - {adapter.name}
        assert all(astuple(adapter.about))
        assert adapter.version >= 1


def test_keys_of_the_first_line() -> None:
    head = Head(b'\n{"a": {"inner": 1}, "b": 2}\n{"c": 3}\n')
    assert head.keys == {"a", "b"}
    assert head.first_line["b"] == 2


def test_keys_of_an_object_longer_than_the_head() -> None:
    text = json.dumps({"a": {"inner": ['}"]'] * 9}, 'q"': 1, "b": "c: d", "z": [1] * 999}).encode()
    cut = Head(text[:-2000])
    assert cut.first_line == {}
    assert cut.keys == {"a", 'q\\"', "b", "z"}


def test_a_text_longer_than_the_head_is_one_text() -> None:
    # Its quotes begin none of their own: what stands between two of them is no key.
    text = json.dumps({"a": 1, "b": '"c": ' * 20_000, "d": 1}).encode()
    for size in range(65_530, 65_536):
        assert Head(text[:size]).keys == {"a", "b"}


def test_a_document_over_several_lines_shows_its_keys() -> None:
    assert Head(json.dumps({"a": 1, "b": {"c": 2}}, indent=1).encode()).keys == {"a", "b"}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "an empty file"),
        (b"\x00\x01", "binary data"),
        (b'{"b": 1, "a": 2}', "JSON with the keys a, b"),
        (b"[1, 2]", "JSON without keys at its top"),
        (b"ts=5 level=info", "text that is not JSON, beginning 'ts=5 level=info'"),
    ],
)
def test_what_a_file_looks_like_can_be_said(data: bytes, kind: str) -> None:
    assert Head(data).kind == kind


def test_a_sniff_says_what_is_missing() -> None:
    head = Head(b'{"kind": "data", "raw": ""}')
    assert wants(head, "kind", "raw|url_path").matches
    assert wants(head, "kind", "t_ns", "a|b").missing == ("t_ns", "a|b")


def test_a_rejected_line_keeps_its_place_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x")
    source = Source("log.jsonl", path)
    intake = Intake("log", "sse")
    intake.reject(source, Line(3, 40, b"bad"), "not JSON", "t_ns", "9" * 200)
    intake.reject(source, 7, "ttfts: seconds expected")
    line, record = intake.reject_table().to_pylist()
    digest = hashlib.sha256(b"x").hexdigest()[:16]
    assert line == {
        "source": f"sse:{digest}",
        "source_name": "log.jsonl",
        "line": 3,
        "offset": 40,
        "length": 3,
        "sha256": hashlib.sha256(b"bad").hexdigest(),
        "reason": "not JSON",
        "field": "t_ns",
        "value": "9" * 80,
    }
    assert (record["line"], record["offset"], record["value"]) == (7, None, None)


def test_clocks_become_a_table() -> None:
    intake = Intake("log", "sse")
    intake.clocks.append(Clock("c", "c:wall", -(2**60), None, "told", "sse:1"))
    (row,) = intake.clock_table().to_pylist()
    assert (row["id"], row["offset_ns"], row["uncertainty_ns"]) == ("c", -(2**60), None)
