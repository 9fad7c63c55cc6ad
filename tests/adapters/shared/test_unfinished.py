from pathlib import Path

import pyarrow as pa

from tokengap.adapters.interface import Intake
from tokengap.adapters.shared.unfinished import Unfinished
from tokengap.adapters.source import Source


def test_answers_that_never_end_are_told_once_each_by_their_first_part(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("x")
    source, intake = Source(str(path), path), Intake("log", "test")
    unfinished = Unfinished()
    # c begins again after its end; d is neither a part nor an end; an answer may have no id.
    names = pa.array(["a", "b", "a", "c", "b", "c", "c", "d", None])
    parts = pa.array([True, True, True, True, False, False, True, False, True])
    ends = pa.array([False, False, False, False, True, True, False, False, False])
    unfinished.note(names, parts, ends, lambda row: 10 + row)
    assert not unfinished.is_empty
    unfinished.report(source, intake, "no end")
    assert [(r.line, r.reason, r.value) for r in intake.rejects] == [
        (10, "no end", "a"),
        (16, "no end", "c"),
        (18, "no end", ""),
    ]


def test_what_began_may_end_later() -> None:
    unfinished = Unfinished()
    yes, no = pa.array([True]), pa.array([False])
    unfinished.note(pa.array(["a"]), yes, no, lambda row: row)
    unfinished.note(pa.array(["a"]), no, yes, lambda row: row)
    assert unfinished.is_empty
