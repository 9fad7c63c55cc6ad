import json

from tests.adapters.reading import SAMPLES, read, times
from tokengap.adapters.formats.sglang_bench import SglangBench
from tokengap.adapters.formats.trtllm_bench import TrtllmBench
from tokengap.adapters.formats.vllm_bench import VllmBench
from tokengap.adapters.formats.vllm_bench_old import VllmBenchOld
from tokengap.adapters.interface import Head

MS = 1_000_000
BENCH = SAMPLES / "trtllm-bench"


def test_only_it_recognises_its_results_with_detail_or_without() -> None:
    document = json.loads((BENCH / "chat.json").read_text())
    short = {name: value for name, value in document.items() if not isinstance(value, list)}
    for found in (document, short):
        head = Head(json.dumps(found).encode())
        assert TrtllmBench().sniff(head).matches
        others = (VllmBench(), VllmBenchOld(), SglangBench())
        assert not any(other.sniff(head).matches for other in others)


def test_completions() -> None:
    exact, ended, few, refused, cut = read(TrtllmBench(), BENCH / "completions.json").rows
    assert (times(exact), exact["granularity"]) == ([50 * MS, 70 * MS, 80 * MS, 90 * MS], "token")
    assert (len(times(ended)), "events_lost" in ended["quality"]) == (4, True)
    assert (few["output_tokens"], few["granularity"]) == (9, "chunk")
    assert (refused["status"], refused["gaps_ns"]) == ("rejected", [])
    assert (cut["error_kind"], cut["gaps_ns"]) == ("ClientPayloadError", [10 * MS, 10 * MS])


def test_chat() -> None:
    same, doubt, both, few, cut = read(TrtllmBench(), BENCH / "chat.json").rows
    assert same["granularity"] == "token"
    assert (doubt["gaps_ns"], doubt["output_tokens"]) == ([20 * MS, 40 * MS], 4)
    assert {"count_mismatch", "events_lost", "first_events_lost"} < set(doubt["quality"])
    assert (both["granularity"], both["gaps_ns"]) == ("token", [20 * MS, 10 * MS, 10 * MS, 10 * MS])
    assert few["granularity"] == "chunk"
    assert (cut["status"], cut["gaps_ns"]) == ("failed", [10 * MS])


def test_an_answer_that_was_not_streamed() -> None:
    whole, failed = read(TrtllmBench(), BENCH / "not_streamed.json").rows
    assert (times(whole), whole["output_tokens"]) == ([350 * MS], 16)
    assert "not_streamed" in whole["quality"]
    assert (failed["status"], times(failed)) == ("failed", [])
