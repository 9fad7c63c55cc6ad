from pathlib import Path

import pytest

from tokengap.errors import UsageError
from tokengap.replay import DecodeFit, PrefillFit
from tokengap.replay.sweep.hardware import read_machines

GOOD = """
[a100]
gpus = 2
cost_per_hour = 4.4
power_watts = 800
kv_capacity_tokens = 1000
memory = "80GB"
mixed = "sum"
prefill = { fixed_ms = 27, token_ms = 0.09, square_ms = 8e-6 }
decode = { fixed_ms = 24.5, token_ms = 0.0002, request_ms = 0.08 }
large = { fixed_ms = 18, token_ms = 0.0004, request_ms = 0.1 }
large_from = 64

[table]
prefill_table = { tokens = [100, 200], times_ms = [10.0, 30.0] }
decode_table = { batches = [1, 3], tokens = [0, 100], times_ms = [[10.0, 20.0], [30.0, 60.0]] }
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hardware.toml"
    path.write_text(text)
    return path


def test_machines_of_coefficients_and_of_tables(tmp_path: Path) -> None:
    fitted, measured = read_machines(written(tmp_path, GOOD))
    assert (fitted.name, fitted.gpus, fitted.memory_bytes) == ("a100", 2, 80 * 10**9)
    assert fitted.model.prefill == PrefillFit(27, 0.09, 8e-6)
    assert fitted.model.large == DecodeFit(18, 0.0004, 0.1)
    assert (fitted.model.large_from, fitted.model.mixed) == (64, "sum")
    assert measured.model.prefill.ms(150, 0) == 20.0
    line = measured.model.line(2, 50)
    assert line.fixed_ms + line.token_ms * 50 == 30.0  # half-way in both directions


FIT = "prefill = { fixed_ms = 1, token_ms = 1 }\n"
STEP = "decode = { fixed_ms = 1, token_ms = 0, request_ms = 0 }\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no machine"),
        ("[a]\n" + FIT, "give either decode or decode_table"),
        ("[a]\n" + STEP, "give either prefill or prefill_table"),
        ("[a]\n" + FIT + STEP + "gpu = 2", "unknown field `gpu`"),
        ("[a]\n" + FIT + STEP + "gpus = 'x'", "Expected `int`"),
        ("[a]\n" + FIT + STEP + "gpus = 0", "1 GPU or more"),
        ("[a]\n" + FIT + STEP + "memory = '80'", "has no unit"),
        ("[a]\n" + FIT + STEP + "mixed = 'mean'", "Invalid enum value 'mean'"),
        ("[a]\nprefill = { fixed_ms = -1, token_ms = 1 }\n" + STEP, "less than no time"),
        ("[a]\nprefill = { fixed_ms = 1 }\n" + STEP, "missing required field `token_ms`"),
        ("a = 1", "Expected `object`"),
        ("[a", "not TOML"),
    ],
)
def test_what_is_wrong_is_said_where_it_is(tmp_path: Path, text: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_machines(path)
    assert str(path) in str(refused.value)
    assert says in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_machines(tmp_path / "no.toml")
