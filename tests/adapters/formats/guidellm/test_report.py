import json
from pathlib import Path

import pytest

from tests.adapters.formats.guidellm.given import (
    NEW,
    OLD,
    new_report,
    old_report,
    read_report,
    requests,
)
from tokengap.adapters.formats.guidellm.report import Guidellm
from tokengap.adapters.interface import Head
from tokengap.errors import InputError


def test_each_benchmark_of_a_report_is_a_trace(tmp_path: Path) -> None:
    report = new_report(requests(NEW, errored=[NEW]), requests(NEW, incomplete=None))
    rows = read_report(tmp_path, report).rows
    assert [row["trace"] for row in rows] == ["run.1", "run.1", "run.2"]
    assert [row["request_id"] for row in rows] == ["gt-1", "gt-1#1", "gt-1"]
    assert [row["source"][-2:] for row in rows] == [":0", ":1", ":2"]
    assert len({row["clock"] for row in rows}) == 1


def test_the_only_benchmark_has_the_trace_to_itself(tmp_path: Path) -> None:
    for report in (new_report(requests(NEW)), old_report(requests(OLD))):
        (row,) = read_report(tmp_path, report).rows
        assert row["trace"] == "run"


def test_the_schema_decides_what_a_key_means(tmp_path: Path) -> None:
    reading = read_report(tmp_path, new_report(requests(OLD)))
    assert (reading.rows, len(reading.intake.rejects)) == ([], 1)


def test_numbers_that_are_not_finite_do_no_harm_where_nothing_is_measured(tmp_path: Path) -> None:
    text = json.dumps(new_report(requests(NEW)) | {"metrics": [float("inf"), float("nan")]})
    assert "Infinity" in text
    assert len(read_report(tmp_path, text).rows) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"benchmarks": [7]}'])
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"run\.json: .*expected GuideLLM's `benchmarks\.json`"):
        read_report(tmp_path, text)


def test_both_schemas_are_recognised_and_no_others() -> None:
    sniff = Guidellm().sniff
    assert sniff(Head(json.dumps(new_report(requests(NEW))).encode()[:200])).matches
    assert sniff(Head(json.dumps(old_report(requests(OLD)), indent=4).encode()[:200])).matches
    assert not sniff(Head(b'{"metadata": {"x_request_id": "a"}, "metrics": {}}')).matches
    assert not sniff(Head(b'{"benchmarks": [{"name": "x"}]}')).matches
