from pathlib import Path

import pytest

from tests.adapters.formats.otlp.building import read, read_files, request, span, write
from tests.adapters.formats.otlp.test_client import call
from tests.adapters.formats.otlp.test_vllm import exported, llm_request
from tests.adapters.reading import SAMPLES
from tokengap.adapters.formats.otlp.adapter import Otlp
from tokengap.adapters.interface import Head
from tokengap.adapters.source import Source


@pytest.mark.parametrize(
    "data",
    [
        b'{"resourceSpans":[]}\n',
        b'{\n "resourceSpans": [\n',
        b'[\n {"name": "a", "context": {}, "parent_id": null, "start_time": "", "end_time": ""}]',
    ],
)
def test_files_of_spans_are_recognised(data: bytes) -> None:
    assert Otlp().sniff(Head(data)).matches


@pytest.mark.parametrize(
    "data", [b'{"resourceMetrics":[]}', b'{"name": "a", "context": {}}', b'{"spans": []}', b"x,y\n"]
)
def test_other_files_are_not(data: bytes) -> None:
    assert not Otlp().sniff(Head(data)).matches


def test_spans_of_other_libraries_are_counted(tmp_path: Path) -> None:
    http = [span("GET /", 0, 1, number) for number in range(1, 4)]
    lines = [exported(llm_request()), request("http", http[:1]), request("http", http[1:])]
    found = read(tmp_path, *lines, request("", http[:1]))
    assert len(found.rows) == 1
    assert [(r.line, r.reason.split(" spans")[0], r.value) for r in found.intake.rejects] == [
        (2, "3", "http"), (4, "1", None),
    ]  # fmt: skip


def test_a_span_of_any_library_may_be_refused(tmp_path: Path) -> None:
    odd = span("a", 0, 1, 1, plain={"gen_ai.operation.name": 5})
    found = read(tmp_path, request("lib", [odd]), exported(llm_request()))
    assert (len(found.rows), [r.field for r in found.intake.rejects]) == (
        1, ["gen_ai.operation.name"],
    )  # fmt: skip


def test_spans_of_a_start_up_are_passed_over(tmp_path: Path) -> None:
    start = request("vllm.v1.engine.core", [span("Overall Loading", 0, 9_000, 5)])
    found = read(tmp_path, start, exported(llm_request()))
    assert (len(found.rows), found.intake.rejects) == (1, [])


def test_each_library_is_read_in_one_file(tmp_path: Path) -> None:
    rows = read(tmp_path, exported(llm_request()), request("lib", [call([10], number=2)])).rows
    assert {row["vantage"] for row in rows} == {"engine", "client"}


def test_ids_of_one_file_come_again_in_another(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", exported(llm_request())) for name in "ab"]
    rows = read_files(paths).rows
    assert {(row["trace"], row["attempt"]) for row in rows} == {("a", 0), ("b", 0)}
    digests = {Source(str(path), path).sha256[:16] for path in paths}
    assert {row["source"].split(":")[1] for row in rows} == digests


def test_files_of_one_run_share_its_ids(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{name}.jsonl", exported(llm_request(number, 5_000 * number)))
        for number, name in enumerate("ab")
    ]
    rows = read_files(paths, trace="run").rows
    assert {(row["trace"], row["attempt"]) for row in rows} == {("run", 0), ("run.2", 0)}


def test_all_samples_in_one_call() -> None:
    paths = sorted((SAMPLES / "otlp").iterdir())
    found = read_files(paths)
    alone = sum(len(read_files([path]).rows) for path in paths)
    assert len(found.rows) == alone
    keys = {tuple(r[k] for k in ("trace", "request_id", "attempt", "choice")) for r in found.rows}
    assert len(keys) == alone
