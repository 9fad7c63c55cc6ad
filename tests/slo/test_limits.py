import doctest
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokengap.errors import UnitError, UsageError
from tokengap.slo import (
    STATISTICS,
    Objective,
    combine,
    limits,
    parse_limit,
    read_slo,
    sql_parameter,
    stated_limits,
)
from tokengap.units import INT64_MAX

objectives = st.builds(
    Objective,
    statistic=st.sampled_from(list(STATISTICS)),
    limit_ns=st.integers(1, INT64_MAX),
    source=st.just("slo.toml"),
)
one_each = st.lists(objectives, unique_by=lambda objective: objective.statistic)


def write(folder: Path, text: str) -> Path:
    path = folder / "slo.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_examples_in_the_docstrings_hold() -> None:
    result = doctest.testmod(limits)
    assert result.attempted > 0
    assert result.failed == 0


def test_these_statistics_can_carry_a_limit_in_this_order() -> None:
    assert list(STATISTICS) == [
        "ttft", "tpot", "gap_p50", "gap_p90", "gap_p99", "worst_gap", "handoff_gap", "e2e",
    ]  # fmt: skip


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_takes_a_limit_on_the_command_line(statistic: str) -> None:
    assert parse_limit(f"{statistic}=0.05s") == Objective(statistic, 50_000_000, "--limit")


def test_spaces_around_the_parts_do_not_matter() -> None:
    assert parse_limit("tpot = 50 ms") == parse_limit("tpot=50ms")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpot", "expected STATISTIC=DURATION, such as tpot=50ms"),
        ("tpot:50ms", "expected STATISTIC=DURATION"),
        ("tpto=50ms", r"no statistic is called 'tpto' \(did you mean tpot\?\)"),
        ("TPOT=50ms", "did you mean tpot"),
        ("latency=50ms", "the statistics are ttft, tpot, gap_p50"),
        ("=50ms", "no statistic is called ''"),
        ("tpot=0ms", "a limit of 0"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_and_says_why(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        parse_limit(text)
    assert str(caught.value).startswith(f"--limit {text}: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpot=50", "'50' has no unit; write 50ms or 50s"),
        ("tpot=", "not a number with a unit"),
        ("tpot=50mb", "write one of ns, us"),
        ("tpot=-50ms", "negative"),
        ("tpot=0.5ns", "not a whole number of nanoseconds"),
    ],
)
def test_a_limit_without_a_usable_duration_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnitError, match=said) as caught:
        parse_limit(text)
    assert str(caught.value).startswith(f"--limit {text}: ")


@pytest.mark.parametrize("name", ["itl", "ITL", "mean_itl", "itl_p99"])
def test_itl_is_refused_because_it_names_three_things(name: str) -> None:
    with pytest.raises(UsageError, match="three things") as caught:
        parse_limit(f"{name}=50ms")
    message = str(caught.value)
    assert "tpot (average per token)" in message
    assert "gap_p99 (tail" in message
    assert "worst_gap (its longest one)" in message
    assert ", ".join(STATISTICS) in message


def test_a_file_is_read_in_the_order_of_the_statistics(tmp_path: Path) -> None:
    path = write(tmp_path, '[limits]\nworst_gap = "100ms"\ntpot = "50ms"\n')
    assert read_slo(path) == [
        Objective("tpot", 50_000_000, str(path)),
        Objective("worst_gap", 100_000_000, str(path)),
    ]


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeff[limits]\ntpot = "50ms"\n')
    assert [objective.statistic for objective in read_slo(path)] == ["tpot"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"no limits; write a table \[limits\]"),
        ("[limits]\n", "no limits"),
        ("limits = 3\n", "1: no limits"),
        ('[limit]\ntpot = "50ms"\n', r"unknown key limit; .* \(did you mean limits\?\)"),
        ('[limits]\ntpot = "50ms"\n[window]\nspan = "1h"\n', "3: unknown key window"),
        ('[limits]\ntpto = "50ms"\n', r"2: limits\.tpto: .*did you mean tpot"),
        ('[limits]\nitl = "50ms"\n', r"limits\.itl: itl could mean three things"),
        ("[limits]\ntpot = true\n", r"limits\.tpot: expected a duration in quotes"),
        ("[limits]\ntpot = []\n", r"limits\.tpot: expected a duration in quotes"),
        ('[limits.tpot]\nlimit = "50ms"\n', r"limits\.tpot: expected a duration in quotes"),
        ('[limits]\ntpot = "0s"\n', r"limits\.tpot: a limit of 0"),
        ('[limits]\nttft = "1s"\ntpot = 50ms\n', r"not TOML: .*line 3.*durations stand in quotes"),
        ('[limits]\ntpot = "50ms"\ntpot = "60ms"\n', r"not TOML: .*line 3"),
    ],
)
def test_a_file_that_says_anything_else_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError, match=said) as caught:
        read_slo(path)
    assert str(caught.value).startswith(f"{path}:")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("50", 'tpot = 50 has no unit; write "50ms" or "50s"'),
        ("0.05", 'write "0.05ms" or "0.05s"'),
        ('"50"', "'50' has no unit; write 50ms or 50s"),
        ('"-50ms"', "negative"),
    ],
)
def test_a_bare_number_in_a_file_is_refused(tmp_path: Path, value: str, said: str) -> None:
    path = write(tmp_path, f"[limits]\ntpot = {value}\n")
    with pytest.raises(UnitError, match=said) as caught:
        read_slo(path)
    assert str(caught.value).startswith(f"{path}:2: limits.tpot")


def test_limits_of_a_program_are_named_without_a_file() -> None:
    assert stated_limits({"tpot": "50ms"}) == [Objective("tpot", 50_000_000, "limits")]
    with pytest.raises(UnitError, match=r"^limits\.tpot = 50 has no unit"):
        stated_limits({"tpot": 50})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.toml: cannot read the SLO file: No such file"):
        read_slo(tmp_path / "missing.toml")
    with pytest.raises(UsageError, match="cannot read the SLO file"):
        read_slo(tmp_path)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "slo.toml"
    path.write_bytes(b"[limits]\n\xff\n")
    with pytest.raises(UsageError, match="not UTF-8 text at byte 9"):
        read_slo(path)


def test_the_command_line_replaces_a_limit_of_the_file() -> None:
    from_file = [Objective("tpot", 50, "slo.toml"), Objective("worst_gap", 100, "slo.toml")]
    from_cli = [Objective("worst_gap", 80, "--limit"), Objective("ttft", 900, "--limit")]
    assert combine(from_file, from_cli) == [
        Objective("ttft", 900, "--limit"),
        Objective("tpot", 50, "slo.toml"),
        Objective("worst_gap", 80, "--limit"),
    ]


def test_one_statistic_with_two_limits_on_the_command_line_is_refused() -> None:
    twice = [parse_limit("tpot=50ms"), parse_limit("tpot=60ms")]
    with pytest.raises(UsageError, match="tpot is given twice, as 50000000 ns and as 60000000 ns"):
        combine([], twice)


def test_one_limit_written_twice_is_one_limit() -> None:
    assert combine([], [parse_limit("tpot=50ms"), parse_limit("tpot=0.05s")]) == [
        Objective("tpot", 50_000_000, "--limit")
    ]


@given(one_each, one_each)
@settings(deadline=None)
def test_each_statistic_holds_once_and_in_order(
    from_file: list[Objective], from_cli: list[Objective]
) -> None:
    held = [objective.statistic for objective in combine(from_file, from_cli)]
    wanted = {objective.statistic for objective in from_file + from_cli}
    assert held == [statistic for statistic in STATISTICS if statistic in wanted]
    assert all(objective in combine(from_file, from_cli) for objective in from_cli)


def test_the_sql_parameter_holds_statistic_and_limit_only() -> None:
    assert sql_parameter([Objective("tpot", 50, "slo.toml")]) == [
        {"statistic": "tpot", "limit_ns": 50}
    ]
