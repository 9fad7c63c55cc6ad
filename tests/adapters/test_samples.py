"""Every sample is what its folder says, is listed, and no adapter lacks one."""

from pathlib import Path

import polars as pl
import pytest

from tokengap.adapters import ADAPTERS
from tokengap.adapters.interface import Head, Intake
from tokengap.adapters.source import Source
from tokengap.errors import InputError
from tokengap.schema import NOTES

SAMPLES = Path(__file__).parents[2] / "sample_traces"
FILES = sorted(
    path
    for path in SAMPLES.rglob("*")
    if path.is_file() and path.name != "README.md" and path.parent.name != "licences"
)
LOGS = [p for p in FILES if not p.name.startswith("truth.") and p.suffix != ".toml"]
MAPPED = "table"
"""A table is recognised by no adapter: it needs a map, and is read by what that says."""


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_sample_is_recognised_as_its_folder_says(path: Path) -> None:
    head = Head(Source(str(path), path).head)
    matching = [adapter.name for adapter in ADAPTERS if adapter.sniff(head).matches]
    folder = path.relative_to(SAMPLES).parts[0]
    assert matching == ([] if folder == MAPPED else [folder])


@pytest.mark.parametrize("path", [p for p in FILES if p not in LOGS], ids=str)
def test_truth_beside_a_sample_is_no_log(path: Path) -> None:
    head = Head(Source(str(path), path).head)
    assert not any(adapter.sniff(head).matches for adapter in ADAPTERS)


def test_every_adapter_has_a_sample() -> None:
    assert {adapter.name for adapter in ADAPTERS} == {
        path.relative_to(SAMPLES).parts[0] for path in LOGS
    }


def test_readme_lists_every_sample() -> None:
    readme = (SAMPLES / "README.md").read_text("utf-8")
    listed = [line for line in readme.splitlines() if line.startswith("| `")]
    for path in LOGS:
        parts = path.relative_to(SAMPLES).parts
        name = parts[1] if len(parts) > 2 else path.name.removesuffix(".gz")
        assert any(name in line for line in listed), path


def test_own_format_tells_what_the_capture_it_was_made_from_tells() -> None:
    columns = ["request_id", "sent_ns", "first_token_ns", "gaps_ns", "token_counts", "status"]
    own, captured = (
        _streams(path).select(columns).sort("request_id")
        for path in (
            SAMPLES / "tokengap" / "pd_forward_events.jsonl.gz",
            SAMPLES / "sse" / "sse_pd_forward.jsonl.gz",
        )
    )
    assert own.height == 24
    assert own.equals(captured)


def _streams(path: Path) -> pl.DataFrame:
    source = Source(str(path), path)
    (adapter,) = (a for a in ADAPTERS if a.sniff(Head(source.head)).matches)
    batches = adapter.read([source], Intake("sample", adapter.name))
    return pl.concat(
        [frame for b in batches if isinstance(frame := pl.from_arrow(b), pl.DataFrame)]
    )


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_every_note_on_a_sample_has_a_meaning(path: Path) -> None:
    source = Source(str(path), path)
    for adapter in (a for a in ADAPTERS if a.sniff(Head(source.head)).matches):
        try:
            batches = list(adapter.read([source], Intake("sample", adapter.name)))
        except InputError:
            continue  # one of a pair, or a file that only says why nothing can be read
        notes = {note for batch in batches for row in batch["quality"].to_pylist() for note in row}
        assert notes <= NOTES.keys()
