import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.slo.given import FULL
from tokengap.errors import UsageError
from tokengap.slo.document import parse_toml
from tokengap.slo.model import Deployment, Exclusion, Goal, Window
from tokengap.slo.services import read_services, services_of

HEAD = '[[service]]\nname = "chat"\n'
GOAL = (
    '[[service.objective]]\nstatistic = "tpot"\nlimit = "50ms"\ntarget = 0.9\nfrom = 2026-01-01\n'
)
PLANNED = '[[exclusion]]\nfrom = 2026-01-31T02:00:00Z\nuntil = 2026-01-31T04:00:00Z\nreason = "r"\n'


def test_a_full_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "slo.toml"
    path.write_text(FULL, "utf-8")
    file = read_services(path)
    chat, batch = file.services
    assert (chat.name, chat.description) == ("chat", "Assistants of the web page")
    assert chat.match == {"deployment": ("chat-*",), "slo_class": ("interactive", "premium")}
    assert (chat.vantage, chat.origin, chat.handoff) == ("client", "planned", "engine")
    assert chat.window == Window("rolling", 28)
    assert chat.goals[2] == Goal(
        "worst_gap", 300_000_000, Decimal("0.995"), date(2026, 6, 1), None, {"slo_class": "premium"}
    )
    assert chat.goals[4] == Goal("good", None, Decimal("0.95"), date(2026, 1, 1))
    assert (batch.match, batch.vantage, batch.handoff) == ({}, None, "stream")
    assert batch.window == Window("month")
    assert batch.goals[0].limit_ns == 600 * 10**9
    assert file.deployments == (
        Deployment("chat-eu", date(2026, 1, 1), 16, Decimal("38.4"), "EUR", Decimal(11200)),
        Deployment("chat-eu", date(2026, 10, 1), 24),
    )
    assert file.exclusions == (
        Exclusion(
            datetime(2026, 11, 21, 2, tzinfo=UTC),
            datetime(2026, 11, 21, 4, tzinfo=UTC),
            "New kernels on all hosts",
            ("chat",),
        ),
    )


def test_a_window_is_28_days_unless_said() -> None:
    (service,) = services_of(parse_toml(HEAD + GOAL, "slo.toml")).services
    assert service.window == Window("rolling", 28)


@pytest.mark.parametrize(
    ("text", "window"),
    [("28d", Window("rolling", 28)), ("4w", Window("rolling", 28)), ("week", Window("week"))],
)
def test_windows_roll_or_are_of_the_calendar(text: str, window: Window) -> None:
    found = services_of(parse_toml(f'{HEAD}window = "{text}"\n{GOAL}', "slo.toml"))
    assert found.services[0].window == window


WRONG = [
    ("", "slo.toml: no service; write [[service]]"),
    ("[service]\n", ":1: service: expected [[service]], in two brackets"),
    ("service = [1]\n", ":1: service: expected a table"),
    ("[[services]]\n", ":1: services: no such key (did you mean service?); the keys here"),
    ('[limits]\ntpot = "50ms"\n' + HEAD, ":1: [limits] are the limits of one audit"),
    ("[[service]]\n" + GOAL, ':1: service: name is missing; write name = "chat"'),
    ('[[service]]\nname = "Chat EU"\n' + GOAL, ':2: service.name = "Chat EU": expected a-z'),
    ("[[service]]\nname = 3\n", ":2: service.name = 3: expected a text in quotes"),
    (HEAD, ":1: service: chat promises nothing; write [[service.objective]]"),
    (HEAD + 'vantag = "client"\n', ":3: service.vantag: no such key (did you mean vantage?)"),
    (
        HEAD + 'vantage = "clinet"\n' + GOAL,
        (
            ':3: service.vantage = "clinet": expected one of client, gateway, engine '
            "(did you mean client?)"
        ),
    ),
    (HEAD + 'origin = "now"\n' + GOAL, ":3: service.origin"),
    (HEAD + 'handoff = "relais"\n' + GOAL, "did you mean relay?"),
    (HEAD + 'window = "1h"\n' + GOAL, ':3: service.window = "1h": expected days that roll'),
    (HEAD + 'window = "367d"\n' + GOAL, '"366d" at most'),
    (HEAD + 'window = "0d"\n' + GOAL, "expected days that roll"),
    (f'{HEAD}description = "{"x" * 1051}"\n{GOAL}', "expected 1050 characters at most"),
    (HEAD + 'description = ""\n' + GOAL, "not an empty one"),
    (
        HEAD + 'match = { deployments = "a" }\n' + GOAL,
        ":3: service.match.deployments: no such key (did you mean deployment?)",
    ),
    (HEAD + "match = { tenant = [] }\n" + GOAL, ":3: service.match.tenant = []: expected"),
    (HEAD + "match = { tenant = [1] }\n" + GOAL, "expected a text in quotes, or a list of texts"),
    (
        HEAD + GOAL.replace("tpot", "tpto"),
        ":4: service.objective.statistic: no statistic is called 'tpto' (did you mean tpot",
    ),
    (HEAD + GOAL.replace("tpot", "goood"), "did you mean good?"),
    (HEAD + GOAL.replace("tpot", "itl"), "three things"),
    (HEAD + GOAL.replace('"50ms"', "50"), ":5: service.objective.limit = 50 has no unit"),
    (HEAD + GOAL.replace("50ms", "0ms"), ":5: service.objective.limit: a limit of 0"),
    (HEAD + GOAL.replace('limit = "50ms"\n', ""), ":3: service.objective: limit is missing"),
    (HEAD + GOAL.replace("tpot", "good"), ':5: service.objective.limit = "50ms": good has'),
    (HEAD + GOAL.replace("target = 0.9\n", ""), "target is missing; write target = 0.99"),
    (
        HEAD + GOAL.replace("0.9", "99.5"),
        (":6: service.objective.target = 99.5: expected a share below 1; 99.5 % is 0.995"),
    ),
    (HEAD + GOAL.replace("0.9", "990"), "target = 990: expected a share below 1"),
    (HEAD + GOAL.replace("0.9", "1.0"), "leaves no budget"),
    (HEAD + GOAL.replace("0.9", "0"), "expected a number above 0"),
    (HEAD + GOAL.replace("0.9", "nan"), "expected a number above 0"),
    (HEAD + GOAL.replace("0.9", "inf"), "expected a number above 0"),
    (HEAD + GOAL.replace("0.9", "1e999999"), "target = 1E+999999: expected a number above 0, and"),
    (HEAD + GOAL.replace("0.9", "true"), "target = true: expected a number"),
    (HEAD + GOAL.replace("0.9", "0.9999999999"), "expected 9 decimals at most"),
    (HEAD + GOAL.replace("from = 2026-01-01\n", ""), "from is missing; write from = 2026-01-31"),
    (HEAD + GOAL.replace("2026-01-01", '"2026-01-01"'), "expected a date without quotes"),
    (HEAD + GOAL.replace("2026-01-01", "2026-01-01T00:00:00Z"), "expected a date without quotes"),
    (HEAD + GOAL + "until = 2026-01-01\n", ":8: service.objective.until = 2026-01-01: the"),
    (
        HEAD + GOAL + GOAL,
        (
            ":8: objective: a second one with the same tenant, slo_class, "
            "statistic and from; keep one"
        ),
    ),
    (HEAD + GOAL + HEAD + GOAL, ':9: service.name = "chat": is given twice'),
    (
        HEAD + GOAL + HEAD.replace("chat", "b") + GOAL,
        (
            ':9: service.name = "b": gets no '
            "request: chat, before it, has no match rules and takes all; write chat last"
        ),
    ),
    (HEAD + GOAL + '[[deployment]]\nname = "a"\nfrom = 2026-01-01\n', "says nothing; give gpus"),
    (
        HEAD + GOAL + '[[deployment]]\nname = "a"\ngpus = 0\n',
        (":10: deployment.gpus = 0: expected 1 or more"),
    ),
    (HEAD + GOAL + '[[deployment]]\nname = "a"\ngpus = 1.5\n', "expected a whole number"),
    (HEAD + GOAL + '[[deployment]]\nname = "a"\ncost_per_h = 3.5\n', "belong together; give both"),
    (
        HEAD + GOAL + '[[deployment]]\nname = "a"\ngpus = 1\nfrom = 2026-01-01\n' * 2,
        ":12: deployment: a second one with the same name and from",
    ),
    (
        HEAD + GOAL + PLANNED.replace("04:", "01:"),
        (":10: exclusion.until = 2026-01-31T01:00:00+00:00: the end must come after the start"),
    ),
    (
        HEAD + GOAL + PLANNED.replace("04:00:00Z", "04:00:00"),
        ("says no time zone; in UTC, write 2026-01-31T04:00:00Z"),
    ),
    (
        HEAD + GOAL + PLANNED.replace("04:00:00Z", "04:00:00+01:00"),
        ("not in UTC; write 2026-01-31T03:00:00Z"),
    ),
    (HEAD + GOAL + PLANNED.replace('reason = "r"\n', ""), ":8: exclusion: reason is missing"),
    (
        HEAD + GOAL + PLANNED + 'service = "chta"\n',
        (':12: exclusion.service = "chta": no service is called chta (did you mean chat?)'),
    ),
    (HEAD + "x = 50ms\n", "slo.toml: not TOML: "),
    (f"x = {'[' * 2000}{']' * 2000}", "slo.toml: not TOML: "),
    (f"x = {'1' * 5000}", "slo.toml: not TOML: "),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_is_wrong_is_told_with_its_line_and_what_to_write(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        services_of(parse_toml(text, "slo.toml"))


def test_objectives_may_stand_in_a_list_and_keep_their_lines() -> None:
    text = f"""{HEAD}objective = [
  {{ statistic = "tpot", limit = "50ms", target = 0.9, from = 2026-01-01 }},
  {{ statistic = "ttft", limit = "1s", target = 9, from = 2026-01-01 }},
]
"""
    with pytest.raises(UsageError, match=r"^slo\.toml:5: service\.objective\.target = 9"):
        services_of(parse_toml(text, "slo.toml"))
