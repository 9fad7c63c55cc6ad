"""The stages of the handoff as a waterfall."""

from typing import Any, Final

from tests.findings.given import audit
from tests.report.html import data
from tokengap.report.section import Subject
from tokengap.report.sections.handoff_stages import handoff_stages

MS: Final = 1_000_000


def row(stage: str, p50_ms: float, *, placed: bool = True) -> dict[str, Any]:
    return {
        "boundary": "engine", "stage": stage, "placed": placed, "requests": 3,
        "p50_ns": p50_ms * MS, "max_ns": round(2 * p50_ms * MS),
        "total_share": 0.25 if placed else None,
    }  # fmt: skip


WHOLE: Final = {
    "boundary": "engine", "requests": 3, "n": 3, "bounded": 0, "p50_ns": 41.0 * MS,
    "max_ns": 90 * MS,
}  # fmt: skip


def bars(stages: list[dict[str, Any]]) -> dict[str, tuple[float, float, str]]:
    subject = Subject(None, audit(stages=stages, boundaries=[WHOLE]))  # type: ignore[arg-type]
    section = handoff_stages(subject)
    assert section is not None
    assert section.chart is not None
    return {
        bar["stage"]: (bar["from"], bar["to"], bar["kind"])
        for bar in data(section.chart, "stage", "median")
    }


def test_each_stage_starts_where_the_one_before_it_ends() -> None:
    stages = [row("relay", 12), row("kv_transfer", 20), row("unaccounted", 8)]
    assert bars([*stages, row("decode_queue", 5, placed=False)]) == {
        "relay": (0, 12, "stage"),
        "kv transfer": (12, 32, "stage"),
        "unaccounted": (32, 40, "unaccounted"),
        "decode queue": (0, 5, "beside the sum"),
        "whole handoff": (0, 41, "whole"),  # the median of the whole is no sum of medians
    }


def test_without_stages_there_is_no_section() -> None:
    found = audit(stages=[row("unaccounted", 8)], boundaries=[WHOLE])
    assert handoff_stages(Subject(None, found)) is None  # type: ignore[arg-type]
