"""Run the public command line on the records of a case."""

import json
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

from tests.cases.convert import Record
from tokengap.cli import main


def write_log(path: Path, records: Sequence[Record | str]) -> Path:
    """Write one record per line; text goes in as it is."""
    lines = [r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*args: str) -> str:
    """Standard output of a command that must succeed."""
    result = CliRunner().invoke(main, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def audit(tmp_path: Path, records: Sequence[Record | str], *args: str) -> Record:
    path = write_log(tmp_path / "case.jsonl", records)
    report: Record = strict_json(run("audit", str(path), "--json", *args))
    return report


def query(tmp_path: Path, records: Sequence[Record | str], name: str, *args: str) -> list[Record]:
    path = write_log(tmp_path / "case.jsonl", records)
    return query_path(path, name, *args)


def query_path(path: Path, name: str, *args: str) -> list[Record]:
    rows: list[Record] = strict_json(run("query", name, str(path), "--json", *args))
    return rows


def latency(tmp_path: Path, records: Sequence[Record | str], *args: str) -> dict[str, Record]:
    """Row of `request_latency` by request, for logs with one stream per request."""
    rows = query(tmp_path, records, "request_latency", *args)
    by_request = {row["request_id"]: row for row in rows}
    assert len(by_request) == len(rows)
    return by_request


def gaps(tmp_path: Path, records: Sequence[Record | str]) -> dict[str, list[int]]:
    """Every gap in order, by request."""
    return gaps_by(query(tmp_path, records, "gaps"), "request_id")


def gaps_by(rows: list[Record], key: str) -> dict[Any, list[int]]:
    """Gaps in order, by any column of the query `gaps`."""
    found: dict[Any, list[int]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["gap_index"]):
        found[row[key]].append(row["gap_ns"])
    return dict(found)


def objective(report: Record, statistic: str) -> Record:
    """The audit's verdict counts of one statistic."""
    (found,) = (each for each in report["objectives"] if each["statistic"] == statistic)
    verdicts: Record = found
    return verdicts


def near(value: str | float) -> object:
    """A DOUBLE that stands for an exact value, or for a fraction `p/q`."""
    return pytest.approx(float(Fraction(value)), rel=1e-12)


def strict_json(text: str) -> Any:
    """Parse JSON as the standard has it: no NaN, no Infinity."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is not JSON")
