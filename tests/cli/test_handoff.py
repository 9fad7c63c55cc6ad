import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, tokengap

MS = 10**6
WORKED = ("--prefill", "40ms", "--step", "10ms")
PROMISED = ("--limit", "ttft=80ms", "--limit", "worst_gap=20ms")
LLAMA = ("--model", "llama-3-8b")


def check(*args: str, bandwidth: str = "1GiB/s") -> Ran:
    return tokengap("handoff", "check", *WORKED, "--bandwidth", bandwidth, *args)


def checked(*args: str, bandwidth: str = "1GiB/s") -> Any:
    return check(*args, "--json", bandwidth=bandwidth).json()


def test_worked_case_as_json() -> None:
    # 16 MiB at 1 GiB/s are 15.625 ms; over 3 tokens the average is 10 + 15.625 / 2 ms
    ran = check("--cache", "16MiB", *PROMISED, "--output-tokens", "3", "--json")
    found = ran.json()
    assert ran.code == 1
    assert found["schema"] == "tokengap.handoff/1"
    assert found["terms"] == {
        "prefill_ns": 40 * MS,
        "bytes": 16 * 2**20,
        "transfer_ns": 15_625_000,
        "overhead_ns": 0,
        "overlap_ns": 0,
        "step_ns": 10 * MS,
    }
    assert (found["ttft_ns"], found["tpot_ns"]) == (40 * MS, 17_812_500)
    assert found["first_gap_ns"] == found["worst_gap_ns"] == 25_625_000
    assert found["verdicts"] == {"ttft": "met", "worst_gap": "missed", "tpot": None}
    assert found["headroom_ns"] == {"ttft": 40 * MS, "worst_gap": -5_625_000, "tpot": None}
    assert found["inverse"] == {
        "min_bandwidth_bytes_per_s": 1600 * 2**20,
        "max_cache_bytes": 10.24 * 2**20,
        "max_overhead_ns": None,
        "max_prompt_tokens": None,
    }
    assert "transfer alone" in found["inverse_reasons"]["max_overhead_ns"]


def test_text_says_terms_verdicts_and_what_passes() -> None:
    ran = check("--cache", "4MiB", *PROMISED)
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert "transfer 3.90625 ms" in lines
    assert "worst gap 13.90625 ms limit 20 ms met 6.09375 ms left" in lines
    assert "overhead at most 6.09375 ms" in lines
    assert "- no queueing but what the overhead holds" in lines


def test_a_time_that_is_no_whole_nanosecond_has_its_fraction() -> None:
    # 1 B at 3 GB/s is a third of a nanosecond
    assert checked("--cache", "1B", bandwidth="3GB/s")["terms"]["transfer_ns"] == 1 / 3


def test_a_single_token_has_nothing_to_miss() -> None:
    ran = check("--cache", "16MiB", *PROMISED, "--output-tokens", "1", "--json")
    found = ran.json()
    assert ran.code == 0
    assert (found["first_gap_ns"], found["worst_gap_ns"], found["tpot_ns"]) == (None, None, None)
    assert found["verdicts"]["worst_gap"] == "not_applicable"
    text = check("--cache", "16MiB", *PROMISED, "--output-tokens", "1").out
    assert "not applicable" in text


def test_withheld_moves_the_pause() -> None:
    found = checked("--cache", "16MiB", "--first-token", "withheld")
    assert (found["ttft_ns"], found["worst_gap_ns"]) == (55_625_000, 10 * MS)


def test_contention_and_shards() -> None:
    # 3 transfers share each link: three times as long. 4 and 2 ranks: half of it on each receiver.
    shared = checked("--cache", "4MiB", "--transfers", "3")
    assert shared["terms"]["transfer_ns"] == 3 * 3_906_250
    shards = ("--kv-heads", "8", "--prefill-tp", "4", "--decode-tp", "2")
    sharded = checked("--cache", "4MiB", *shards)
    assert sharded["terms"]["transfer_ns"] == 1_953_125
    assert "the busiest link carries 1/2 of the cache" in sharded["assumptions"]


def test_overlap_by_layer() -> None:
    # 3 of 4 layers of 16 MiB are hidden behind a longer prefill
    found = checked("--cache", "16MiB", "--overlap", "layers", "--layers", "4")
    assert found["terms"]["overlap_ns"] == Fraction(3, 4) * 15_625_000
    hidden = checked("--cache", "16MiB", "--overlap", "1s")
    assert hidden["terms"]["overlap_ns"] == hidden["terms"]["transfer_ns"]


def test_a_prompt_of_a_model_and_the_longest_that_passes() -> None:
    # 131072 B per token: 10.24 MiB per GiB/s are 81.92 tokens, 80 in whole blocks of 16
    found = checked(*LLAMA, "--prompt", "100", "--block", "16", *PROMISED)
    assert found["terms"]["bytes"] == 112 * 131_072
    assert found["inverse"]["max_prompt_tokens"] == 80
    assert "prompt at most" in check(*LLAMA, "--prompt", "100", *PROMISED).out


def test_why_there_is_no_longest_prompt() -> None:
    # a window of 4096 tokens of 131072 B is 512 MiB: 0.6 s at 1 GiB/s leave room for all of it
    windowed = ("--model", "mistral-7b-v0.1", "--prompt", "9000")
    found = checked(*windowed, "--limit", "worst_gap=1s")
    assert found["terms"]["bytes"] == 512 * 2**20
    assert found["inverse"]["max_prompt_tokens"] is None
    assert "any length passes" in found["inverse_reasons"]["max_prompt_tokens"]
    assert "any length passes" in check(*windowed, "--limit", "worst_gap=1s").out
    unbounded = checked(*windowed)
    assert "no promise depends" in unbounded["inverse_reasons"]["max_prompt_tokens"]


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "2000000000", "9" * 5000, "x"])
def test_a_count_is_a_whole_number_of_sane_size(count: str) -> None:
    ran = check(*LLAMA, f"--prompt={count}")
    assert ran.code == 2
    assert "no whole number from 1" in ran.err


def test_colocated_contrast_comes_with_its_warning() -> None:
    found = checked("--cache", "16MiB", "--colocated")
    assert found["colocated_gap_ns"] == 50 * MS
    assert any("not a fair comparison" in line for line in found["assumptions"])
    alone = checked("--cache", "16MiB")
    assert alone["colocated_gap_ns"] is None
    text = check("--cache", "16MiB", "--colocated").out
    assert "one shared worker" in text
    assert "not a fair comparison" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "--cache SIZE, or as a model"),
        (("--cache", "16MiB", "--prompt", "5"), "--cache SIZE, or as a model"),
        (("--prompt", "5"), "--prompt needs --model"),
        (("--cache", "16"), "no unit"),
        (("--cache", "1MiB", "--limit", "e2e=1s"), "the budget knows ttft"),
        (("--cache", "1MiB", "--overlap", "layers"), "needs --layers"),
        (("--cache", "1MiB", "--decode-tp", "2"), "need --kv-heads"),
        ((*LLAMA, "--prompt", "1", "--decode-tp", "3"), "do not divide"),
        ((*LLAMA, "--prompt", "1", "--layers", "3"), "exclude each other"),
    ],
)
def test_what_cannot_be_checked_is_a_usage_error(args: tuple[str, ...], said: str) -> None:
    ran = check(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_bandwidth_is_above_0_and_has_a_unit() -> None:
    assert "above 0" in check("--cache", "1MiB", bandwidth="0GB/s").err
    assert "write 25GB/s or 25Gb/s" in check("--cache", "1MiB", bandwidth="25").err


def kv(*args: str) -> Ran:
    return tokengap("handoff", "kv", *args)


def test_size_of_a_model_of_the_table() -> None:
    # 80 layers * 2 * 8 heads * 128 * 2 B
    found = kv("--model", "llama-3-70b", "--prompt", "17", "--block", "16", "--tp", "4", "--json")
    assert found.json() == {
        **found.json(),
        "schema": "tokengap.handoff.kv/1",
        "bytes_per_token": 327_680,
        "fixed_bytes": 0,
        "prompt_bytes": 32 * 327_680,
        "rank_bytes": 8 * 327_680,
        "source": "config.json of meta-llama/Meta-Llama-3-70B on Hugging Face",
    }
    text = kv("--model", "llama-3-70b", "--prompt", "17", "--tp", "4").out
    assert "320 KiB" in text
    assert "on each of 4 ranks" in text


def test_size_from_numbers() -> None:
    heads = ("--layers", "32", "--kv-heads", "8", "--head-dim", "128", "--kv-dtype", "bf16")
    assert kv(*heads, "--json").json()["bytes_per_token"] == 131_072
    latent = ("--layers", "61", "--kv-lora-rank", "512", "--rope-dim", "64", "--kv-dtype", "fp8")
    assert kv(*latent, "--json").json()["bytes_per_token"] == 35_136


def test_size_from_a_configuration(tmp_path: Path) -> None:
    config = {
        "model_type": "qwen3_next",
        "num_hidden_layers": 4,
        "full_attention_interval": 4,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_num_value_heads": 4,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
        "torch_dtype": "bfloat16",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf-8")
    assert "state" in kv("--config", str(path)).err
    ran = kv("--config", str(path), "--state-dtype", "fp32", "--prompt", "2", "--json")
    # as in the tests of configurations: 512 B per token, three states of 576 + 2048 B
    assert ran.json()["prompt_bytes"] == 2 * 512 + 3 * (576 + 2048)
    assert "fixed state" in kv("--config", str(path), "--state-dtype", "fp32").out


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000])
def test_what_is_no_configuration_is_unusable_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, "utf-8")
    ran = kv("--config", str(path))
    assert ran.code == 3
    assert "config.json" in ran.err
    assert kv("--config", str(tmp_path / "none.json")).code == 3


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "give --model"),
        (("--model", "gpt-5"), "no model is called"),
        (("--head-dim", "128"), "--layers is missing"),
        (("--head-dim", "128", "--layers", "3"), "--kv-heads is missing"),
        (("--head-dim", "1", "--layers", "3", "--kv-heads", "1"), "--kv-dtype is missing"),
        (("--head-dim", "1", "--rope-dim", "1"), "keep one"),
        (("--kv-lora-rank", "1", "--layers", "3"), "--rope-dim is missing"),
        ((*LLAMA, "--head-dim", "1"), "exclude each other"),
    ],
)
def test_a_size_that_is_not_decided_is_a_usage_error(args: tuple[str, ...], said: str) -> None:
    ran = kv(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ("check", *WORKED, "--bandwidth", "1GiB/s", "--cache", "16MiB"),
            "What the wait is made of",
        ),
        (
            ("kv", *LLAMA, "--prompt", "4096"),
            "The cache of a prompt of 4\u202f096 tokens is 512 MiB.",
        ),
    ],
)
def test_page_picture_and_rows(command: tuple[str, ...], says: str, tmp_path: Path) -> None:
    files = {form: tmp_path / f"made.{form}" for form in ("html", "png", "csv")}
    options = [text for form, path in files.items() for text in (f"--{form}", str(path))]
    assert tokengap("handoff", *command, *options).code == 0
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    assert says in files["html"].read_text()
    assert len(files["csv"].read_text().splitlines()) > 2


def test_a_page_can_take_the_place_of_the_text() -> None:
    ran = check("--cache", "16MiB", *PROMISED, "--html", "-")
    assert ran.code == 1
    assert ran.out.startswith("<!doctype html>")
    assert "The cache does not fit: the worst gap missed." in ran.out
