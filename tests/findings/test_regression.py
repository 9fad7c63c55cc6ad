"""Runs beside a stored baseline: recorded ones, and by hand."""

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.running import SAMPLES
from tests.queries.given import Row, stream
from tokengap.errors import UsageError
from tokengap.findings.audit import audit, rows
from tokengap.findings.regression import SCHEMA, add_run, against
from tokengap.library import SHARED, read_catalogue, refresh
from tokengap.library.inputs import bound, objectives, opened
from tokengap.schema import STREAMS
from tokengap.slo import Objective
from tokengap.store.connect import NOTHING_DECLARED, Declared, Tables, Window, bind
from tokengap.weekly.against import Against
from tokengap.weekly.model import CANNOT_TELL, NOT_COMPARABLE, WORSE

CALIBRATED: Final = SAMPLES / "vllm-bench" / "calibrated"
FIRST, AGAIN = (CALIBRATED / f"b_poisson50_mono_{run}.json.gz" for run in ("r1", "r2"))
WHOLE: Final = read_catalogue().storing(SHARED)
SMALL: Final = WHOLE.only("promised_cells", "promised_places", "_judged")
LIMITS: Final = objectives(("ttft=300ms", "tpot=20ms", "worst_gap=60ms"), None)
MS: Final = 1_000_000
DAY_NS: Final = 86_400 * 10**9


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened([str(path)], SMALL, print) as found:
        yield found.con


class Held:
    """A connection of its own, loaded once, that shows one run after the other."""

    def __init__(self, con: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self.con = con
        self._parts = (folder / f"{number}.parquet" for number in count())
        self._shown: object = None

    def show(self, run: Sequence[Row], declared: Declared = NOTHING_DECLARED) -> None:
        if self._shown == (run, declared):
            return
        self._shown = run, declared
        part = next(self._parts)
        pq.write_table(pa.Table.from_pylist(list(run), STREAMS), part)
        self.con.execute(declared.macros())
        bind(self.con, Tables([str(part)]), declared)
        refresh(self.con, SMALL)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    folder = tmp_path_factory.mktemp("runs")
    with bound(Tables(), SMALL, NOTHING_DECLARED, folder) as con:
        yield Held(con, folder)


def run_of(
    gap_ns: int = 10 * MS, start_ns: int = 0, requests: int = 120, **facts: Any
) -> list[Row]:
    """A request each second, of four tokens at this pace."""
    return [
        stream(
            f"secret-{number}",
            [sent_ns + 50 * MS + gap_ns * token for token in range(4)],
            sent_ns=sent_ns, prompt_tokens=100, source=f"run:0:{number}", **facts,
        )
        for number in range(requests) for sent_ns in [start_ns + number * 10**9]
    ]  # fmt: skip


def verdicts(found: Against) -> dict[str, str]:
    return {name: change.verdict for name, change in found.changes.items()}


def added(held: Held, file: Path, *runs: Sequence[Row]) -> None:
    for run in runs:
        held.show(run)
        add_run(held.con, LIMITS, file)


def compared(
    held: Held, file: Path, run: Sequence[Row], limits: Sequence[Objective] = LIMITS,
    declared: Declared = NOTHING_DECLARED,
) -> Against:  # fmt: skip
    held.show(run, declared)
    return against(held.con, limits, file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "main.json"


@pytest.fixture(scope="module")
def recorded() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    """Two runs of the same load."""
    with reading(FIRST) as first, reading(AGAIN) as again:
        yield [first, again]


def test_a_recorded_run_repeated_does_not_alarm(
    recorded: list[duckdb.DuckDBPyConnection], file: Path
) -> None:
    """Beside the other one, and beside three."""
    first, again = recorded
    assert add_run(first, LIMITS, file) == 1
    found = against(again, LIMITS, file)
    assert (found.file, found.runs, found.compares) == (str(file), 1, True)
    assert set(verdicts(found).values()) == {CANNOT_TELL}
    assert found.changes["tpot"].requests == found.changes["tpot"].requests_before == 100
    assert add_run(again, LIMITS, file) == 2
    assert add_run(first, LIMITS, file) == 3
    found = against(again, LIMITS, file)
    assert (found.runs, found.got_worse) == (3, False)


def test_a_recorded_run_at_half_its_pace_alarms(
    recorded: list[duckdb.DuckDBPyConnection], tmp_path: Path, file: Path
) -> None:
    log = json.loads(gzip.decompress(FIRST.read_bytes()))
    log["itls"] = [[2 * gap for gap in gaps] for gaps in log["itls"]]
    slow = tmp_path / "slow.json"
    slow.write_text(json.dumps(log), "utf-8")
    first, again = recorded
    with reading(slow) as con:
        for before in ([first], [again, first]):
            for run in before:
                add_run(run, LIMITS, file)
            found = against(con, LIMITS, file)
            assert verdicts(found)["tpot"] == WORSE
            value = found.changes["tpot"].value
            assert value is not None
            assert value.matched == pytest.approx(1.75, rel=0.15)  # at most twice the limit counts
            assert verdicts(found)["ttft"] == CANNOT_TELL
    assert found.runs == 3


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_gaps_twice_as_long_are_worse(held: Held, file: Path, runs: int) -> None:
    """By hand: 20 ms instead of 10, and everything still within its limit."""
    added(held, file, *[run_of()] * runs)
    found = compared(held, file, run_of(20 * MS))
    assert verdicts(found) == {
        "ttft": CANNOT_TELL, "tpot": WORSE, "worst_gap": WORSE, "good": CANNOT_TELL,
    }  # fmt: skip
    change = found.changes["worst_gap"]
    assert (change.raw, change.matched, change.requests_before) == (0, 0, 120 * runs)
    assert change.value is not None
    assert change.value.matched == pytest.approx(2)
    assert verdicts(compared(held, file, run_of())) == dict.fromkeys(found.changes, CANNOT_TELL)


def test_when_a_run_was_is_no_matter(held: Held, file: Path) -> None:
    """On a wall clock as on a monotonic one, over midnight as at noon."""
    wall: Row = {"clock": "w", "clock_kind": "wall"}
    starts = (0, 20_000 * DAY_NS + DAY_NS // 2, 20_001 * DAY_NS - 60 * 10**9)
    added(held, file, *(run_of(start_ns=start_ns, **wall) for start_ns in starts), run_of())
    first, *others = json.loads(file.read_bytes())["runs"]
    assert others == [first] * 3


def test_a_baseline_tells_of_no_request(held: Held, file: Path) -> None:
    """Sums by blocks of time alone: 119 s in 48 blocks, of two or three requests each."""
    added(held, file, run_of())
    text = file.read_text("utf-8")
    assert "secret" not in text
    kept = json.loads(text)
    assert kept["schema"] == SCHEMA
    (run,) = kept["runs"]
    assert run["limits_ns"] == {"ttft": 300 * MS, "tpot": 20 * MS, "worst_gap": 60 * MS}
    assert run["vantage"] == "client"
    cells = run["cells"]["worst_gap"]
    assert sum(cells["applies"]) == sum(cells["met"]) == 120
    assert len(set(cells["block"])) == 49
    assert max(cells["applies"]) == 3


def test_only_the_window_counts(held: Held, file: Path) -> None:
    """The first 60 requests are slow; from second 60 on all is as it was."""
    added(held, file, run_of(requests=60))
    run = [*run_of(40 * MS, requests=60), *run_of(requests=120)[60:]]
    later = Declared(window=Window(60 * 10**9, 120 * 10**9))
    found = compared(held, file, run, declared=later)
    assert not found.got_worse
    assert found.changes["tpot"].requests == 60
    earlier = Declared(window=Window(0, 60 * 10**9))
    assert compared(held, file, run, declared=earlier).changes["tpot"].verdict == WORSE


def test_other_limits_are_not_compared(held: Held, file: Path) -> None:
    added(held, file, run_of())
    limits = objectives(("ttft=300ms", "tpot=30ms", "e2e=9s"), None)
    found = compared(held, file, run_of(), limits)
    assert {name: change.says for name, change in found.changes.items()} == {
        "ttft": "at equal mix no more than chance, or too little to matter",
        "tpot": "another limit on tpot before",
        "e2e": "no limit on it before",
        "good": "another limit on e2e before",
    }
    assert (found.compares, found.got_worse) == (True, False)


def test_another_place_is_not_compared(held: Held, file: Path) -> None:
    added(held, file, run_of())
    moved = [row | {"vantage": "engine", "arrival_ns": row["sent_ns"]} for row in run_of()]
    found = compared(held, file, moved)
    assert set(verdicts(found).values()) == {NOT_COMPARABLE}
    assert found.changes["good"].says == "seen at the client before, and at the engine now"
    planned = [row | {"planned_ns": row["sent_ns"]} for row in run_of()]
    found = compared(held, file, planned, declared=Declared(origin="planned"))
    assert verdicts(found) == {
        "ttft": NOT_COMPARABLE, "tpot": CANNOT_TELL, "worst_gap": CANNOT_TELL,
        "good": NOT_COMPARABLE,
    }  # fmt: skip


def test_one_run_that_differs_is_enough_to_refuse(held: Held, file: Path) -> None:
    added(held, file, run_of(), run_of())
    held.show(run_of())
    add_run(held.con, LIMITS[:1], file)
    says = {name: change.says for name, change in compared(held, file, run_of()).changes.items()}
    assert says["tpot"] == "no limit on it before"
    assert says["ttft"].startswith("at equal mix")


def test_what_no_request_has_cannot_be_told(held: Held, file: Path) -> None:
    """One token each, so no gap at all; nor, where no request is, anything else."""
    single = [row | {"gaps_ns": [], "output_tokens": 1, "min_gap_ns": None} for row in run_of()]
    added(held, file, single, single, single)
    found = compared(held, file, single)
    assert set(verdicts(found).values()) == {CANNOT_TELL}
    assert found.changes["worst_gap"].requests == 0
    assert found.changes["ttft"].requests == 120


def test_nothing_beside_nothing(held: Held, file: Path) -> None:
    added(held, file, [])
    assert set(verdicts(compared(held, file, [])).values()) == {CANNOT_TELL}
    assert not compared(held, file, run_of()).compares


GOOD_RUN: Final[Row] = {"limits_ns": {}, "vantage": None, "places": [], "cells": {}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no baseline that --save-baseline wrote"),
        ("not JSON", "no baseline that --save-baseline wrote"),
        ("[]", "no baseline that --save-baseline wrote"),
        ("{}", "no baseline that --save-baseline wrote"),
        (json.dumps({"schema": SCHEMA, "runs": [{}]}), "no baseline that --save-baseline wrote"),
        (json.dumps({"schema": SCHEMA, "runs": []}), f"expected {SCHEMA} with a run"),
        (
            json.dumps({"schema": "tokengap.baseline-runs/9", "runs": [GOOD_RUN]}),
            "expected tokengap",
        ),
    ],
)
def test_a_file_that_is_none_of_ours_is_refused_and_left_alone(
    held: Held, file: Path, text: str, said: str
) -> None:
    file.write_text(text, "utf-8")
    held.show(run_of(requests=1))
    for use in (against, add_run):
        with pytest.raises(UsageError, match=said) as error:
            use(held.con, LIMITS, file)
        assert str(error.value).startswith(str(file))
    assert file.read_text("utf-8") == text


def test_a_file_that_cannot_be_read_or_written_is_refused(held: Held, file: Path) -> None:
    held.show(run_of(requests=1))
    with pytest.raises(UsageError, match="cannot be read"):
        against(held.con, LIMITS, file)
    with pytest.raises(UsageError, match="cannot be written"):
        add_run(held.con, LIMITS, file.parent / "none" / "main.json")


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_run_is_added_whole_or_not_at_all(
    held: Held, file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    added(held, file, run_of(requests=1))
    before = file.read_bytes()

    def full(self: Path, _: object) -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    held.show(run_of(requests=2))
    with monkeypatch.context() as broken:
        broken.setattr(Path, step, full)
        with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"):
            add_run(held.con, LIMITS, file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["main.json"]
    assert add_run(held.con, LIMITS, file) == 2


def test_the_audit_of_the_same_connection_is_what_it_was(file: Path) -> None:
    """A run is judged by its window alone, on views of its own: no other number may notice."""
    others = [
        "FROM _kept_latency ORDER BY ALL", "FROM request_latency ORDER BY ALL",
        "FROM _last_attempts ORDER BY ALL", "FROM judged_window",
    ]  # fmt: skip
    with opened([str(FIRST)], WHOLE, print) as inputs:
        before = audit(inputs.con, LIMITS), [rows(inputs.con, query) for query in others]
        add_run(inputs.con, LIMITS, file)
        first = file.read_bytes()
        against(inputs.con, LIMITS, file)
        after = audit(inputs.con, LIMITS), [rows(inputs.con, query) for query in others]
        assert after == before
        assert add_run(inputs.con, LIMITS, file) == 2
    one, two = json.loads(file.read_bytes())["runs"]
    assert one == two == json.loads(first)["runs"][0]
