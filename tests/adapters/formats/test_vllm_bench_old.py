import json

import pytest

from tests.adapters.reading import SAMPLES, read, times
from tokengap.adapters.formats.sglang_bench import SglangBench
from tokengap.adapters.formats.trtllm_bench import TrtllmBench
from tokengap.adapters.formats.vllm_bench import VllmBench
from tokengap.adapters.formats.vllm_bench_old import VllmBenchOld
from tokengap.adapters.interface import Head

MS = 1_000_000
BENCH = SAMPLES / "vllm-bench-old"


@pytest.mark.parametrize("name", ["completions", "chat"])
def test_only_it_recognises_its_results(name: str) -> None:
    head = Head((BENCH / f"{name}.json").read_bytes())
    assert VllmBenchOld().sniff(head).matches
    others = (VllmBench(), TrtllmBench(), SglangBench())
    assert not any(other.sniff(head).matches for other in others)


def test_a_result_of_a_later_version_speaks_against_it() -> None:
    document = json.loads((BENCH / "chat.json").read_text())
    head = Head(json.dumps({"failed": 0, "start_times": []} | document).encode())
    assert VllmBenchOld().sniff(head).missing == ("no failed", "no start_times")


def test_completions() -> None:
    exact, few, ended, refused = read(VllmBenchOld(), BENCH / "completions.json").rows
    assert (times(exact), exact["granularity"]) == ([50 * MS, 70 * MS, 80 * MS, 90 * MS], "token")
    assert (few["output_tokens"], few["granularity"]) == (7, "chunk")
    assert (len(times(ended)), "count_mismatch" in ended["quality"]) == (3, True)
    assert (refused["status"], refused["stream_close_ns"]) == ("rejected", None)


def test_chat() -> None:
    same, doubt, silent = read(VllmBenchOld(), BENCH / "chat.json").rows
    assert same["granularity"] == "token"
    assert (doubt["gaps_ns"], "first_events_lost" in doubt["quality"]) == ([20 * MS, 10 * MS], True)
    assert (silent["status"], silent["error_kind"]) == ("failed", "no_first_token")
