"""The trace as its readers take it: processes, threads, slices in microseconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases.commands import strict_json
from tests.cases.convert import Record
from tests.cli.running import SAMPLES, tokengap
from tests.report.auditing import LIMITS, MS, request, text_of
from tokengap.report.perfetto import perfetto
from tokengap.report.timeline import Timeline

Event = dict[str, Any]


def traced(folder: Path, log: Sequence[Record], *args: str) -> list[Event]:
    printed = strict_json(text_of(folder, log, *args, "--perfetto", "-"))
    events: list[Event] = printed["traceEvents"]
    return events


def events_of(folder: Path) -> list[Event]:
    events: list[Event] = strict_json((folder / "trace.json").read_text("utf-8"))["traceEvents"]
    return events


def names(events: list[Event], what: str) -> dict[int, str]:
    """Names of processes by pid, or of tracks by tid."""
    key = "pid" if what == "process_name" else "tid"
    return {e[key]: e["args"]["name"] for e in events if e["name"] == what and e["ph"] == "M"}


def slices(events: list[Event], track: str) -> list[tuple[str, float, float]]:
    """Name, start and duration in ms of what lies on a track."""
    tids = {tid for tid, name in names(events, "thread_name").items() if name == track}
    return [
        (e["name"], e["ts"] / 1000, e.get("dur", 0) / 1000)
        for e in events
        if e["ph"] in "Xi" and e["tid"] in tids
    ]


def test_a_track_holds_the_request_its_ttft_and_its_gaps(tmp_path: Path) -> None:
    log = [request("stalls", [10] * 19 + [610]), request("fine", [10] * 10)]
    events = traced(tmp_path, log, *LIMITS)
    assert names(events, "process_name") == {1: "tokengap", 2: "client"}
    # both sent at 0; the first token after 100 ms, 19 gaps of 10 ms, one of 610 ms
    assert slices(events, "stalls") == [
        ("completed, 21 tokens", 0, 900),
        ("TTFT 100 ms", 0, 100),
        ("gap 610 ms: unexplained", 290, 610),
    ]
    assert slices(events, "fine")[-1] == ("gap 10 ms, the longest", 100, 10)


def test_it_says_how_many_are_shown(harmless: Path) -> None:
    events = events_of(harmless)
    ((says, start, _),) = slices(events, "about this timeline")
    assert start == 0
    assert says == (
        "8 of 8 streams: the 8 with the longest worst gap, and 0 of 0 that ran beside them."
    )


def test_marks_are_instants_and_stages_have_a_track(tmp_path: Path) -> None:
    stage = {"name": "prefill", "start_ns": 20 * MS, "end_ns": 90 * MS}
    events = traced(tmp_path, [request("a", [10]) | {"stages": [stage]}], *LIMITS)
    assert slices(events, "a, stages") == [("prefill 70 ms", 20, 70)]


def test_no_nanosecond_is_lost(tmp_path: Path) -> None:
    """As readers do it: the nearest whole number of a thousand times the microseconds."""
    start_ns = 1_700_000_000_123_456_789
    times = [start_ns + 1, start_ns + 86_400_000_000_123]
    log = [{"request_id": "a", "sent_ns": start_ns, "times_ns": times, "status": "completed"}]
    events = traced(tmp_path, log)
    (gap,) = (e for e in events if e.get("cat") == "gap")
    assert round(gap["ts"] * 1000) == 1
    assert round(gap["dur"] * 1000) == gap["args"]["duration_ns"] == times[1] - times[0]


def test_ids_are_shared_by_nothing(harmless: Path) -> None:
    events = events_of(harmless)
    pids, tids = names(events, "process_name"), names(events, "thread_name")
    assert not pids.keys() & tids.keys()
    assert len({(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}) == len(tids)
    assert all(e["pid"] in pids for e in events)


@pytest.fixture(scope="module")
def split() -> list[str]:
    folders = ("vllm-bench/bench_pd_forward.json.gz", "proxy-log/proxy_pd_forward.jsonl.gz")
    logs = [str(SAMPLES / path) for path in (*folders, "otlp/otlp_spans_pd.jsonl.gz")]
    return ["audit", *logs, "--id-prefix", "bench_pd_forward=pdf-", "--perfetto", "-", *LIMITS]


def test_a_real_split_run_has_a_process_per_place(split: list[str]) -> None:
    ran = tokengap(*split, "--same-clock")
    events = ran.json()["traceEvents"]
    assert set(names(events, "process_name").values()) == {
        "tokengap", "client · vllm-decode/84af2973", "gateway",
        "engine · vllm-prefill/cc0c18bc", "engine · vllm-decode/84af2973",
    }  # fmt: skip
    found = {e["name"].rsplit(" ", 2)[0] for e in events if e.get("cat") == "handoff"}
    assert found == {f"handoff by {b}" for b in ("stream", "engine", "relay", "gateway")}
    assert {e["name"] for e in events if e["ph"] == "i"} >= {"decode first token"}
    assert "50 of 50 streams" in ran.err


def test_clocks_that_nothing_relates_are_processes_of_their_own(split: list[str]) -> None:
    ran = tokengap(*split)
    events = ran.json()["traceEvents"]
    processes = names(events, "process_name")
    assert {name.split(" · ")[-1] for name in processes.values()} == {
        "tokengap", *(f"clock {n} of 4, from its own zero" for n in range(1, 5)),
    }  # fmt: skip
    for pid in processes:
        assert min(e["ts"] for e in events if e["pid"] == pid and "ts" in e) >= 0
    assert "4 clocks that nothing relates" in ran.err


def test_a_timeline_of_nothing_says_why() -> None:
    events = strict_json(perfetto(Timeline([], ["No stream has times."])))["traceEvents"]
    assert slices(events, "about this timeline") == [("No stream has times.", 0, 0.001)]


def test_gaps_lie_where_they_were(tmp_path: Path) -> None:
    events = traced(tmp_path, [request("a", [10, 600, 10, 700])], *LIMITS)
    assert [each[1:] for each in slices(events, "a")[2:]] == [(110, 600), (720, 700)]
