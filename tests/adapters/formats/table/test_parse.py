"""A map that is wrong says on which line, in which key, and what to write."""

from typing import get_args

import pytest

from tests.adapters.formats.table.tables import DURATIONS, REQUESTS, TOKENS
from tokengap.adapters.formats.table.mapping import CountSource, Vantage
from tokengap.adapters.formats.table.parse import read_map
from tokengap.errors import UsageError
from tokengap.schema import COUNT_SOURCES, VANTAGES

SENT = 'sent = { column = "a", unit = "ms" }\n'


def test_a_name_alone_is_a_column() -> None:
    short = read_map(REQUESTS + SENT + 'request_id = "id"\n[labels]\nzone = "z"\n').map
    long = read_map(
        REQUESTS + SENT + 'request_id = { column = "id" }\n[labels]\nzone = { column = "z" }\n'
    ).map
    assert short == long
    assert short.stamps == ["sent"]


def test_words_of_a_map_are_those_of_the_table_it_makes() -> None:
    assert get_args(CountSource) == COUNT_SOURCES
    assert get_args(Vantage) == VANTAGES


def test_where_all_are_durations_the_origin_need_not_be_there() -> None:
    found = read_map(DURATIONS + 'first_token = { column = "t", unit = "s", since = "sent" }\n')
    assert found.map.own_origin == "sent"


def cell(name: str, column: str, unit: str = "s", since: str = "") -> str:
    """A line of a map for a time."""
    after = f', since = "{since}"' if since else ""
    return f'{name} = {{ column = "{column}", unit = "{unit}"{after} }}\n'


FIRST = cell("first_token", "b", since="sent")
ID = 'request_id = "r"\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (REQUESTS + 'sent = "a"\n', 5, 'columns.sent: unit is missing; write unit = "s", "ms"'),
        (REQUESTS + "snet = 3\n", 5, "columns.snet: no such key; did you mean sent"),
        (REQUESTS + cell("sent", "a", "sec"), 5, "columns.sent.unit: .*'sec'; write unit"),
        (REQUESTS + '[columns.sent]\ncolumn = "a"\n\nunit = 3\n', 8, "columns.sent.unit: expected"),
        (REQUESTS + cell("sent", "a").replace("unit", "unti"), 5, "did you mean unit"),
        (REQUESTS + 'model = { column = "a", value = "b" }\n', 5, 'write column = "..."'),
        (REQUESTS + cell("gaps", "a", "iso"), 5, "columns.gaps.unit"),
        (REQUESTS + SENT + "[ids]\nx = 3\n", 7, "ids.x: expected"),
        (REQUESTS + SENT + "[ids]\n" + cell("x", "a"), 7, "ids.x.unit: no such key; there are"),
        (REQUESTS + SENT + '[reported]\ntpot = { column = "a" }\n', 7, "unit is missing"),
        ('rows = "request"\n[columns]\n', 1, 'vantage is missing; write vantage = "client"'),
        ('rows = "line"\nvantage = "client"\n[columns]\n', 1, 'write rows = "request" or'),
        ('vantage = "client"\n[columns]\n', 1, "rows is missing"),
        ('rows = "request"\nvantage = "client"\n', 1, "columns is missing"),
        (DURATIONS + SENT, 4, "columns.sent: clock is missing"),
        ("clock = {}\n" + DURATIONS + SENT, 1, 'clock: kind is missing; write kind = "wall"'),
        (REQUESTS + FIRST, 3, "clock: no column holds a stamp"),
        (DURATIONS + cell("end", "a", since="snet"), 4, "did you mean sent"),
        (REQUESTS + SENT + cell("end", "b", since="arrival"), 6, "arrival is not mapped"),
        (DURATIONS + FIRST + cell("end", "b", since="arrival"), 4, "sent and arrival are both"),
        (DURATIONS + 'gaps = { column = "a", unit = "s" }\n', 3, "first_token is missing"),
        (
            DURATIONS + cell("end", "a", since="last_token") + cell("last_token", "b", since="end"),
            5, "end counts from last_token itself",
        ),
        (REQUESTS + SENT + cell("time", "t"), 6, 'not where rows = "request"'),
        (TOKENS + ID + cell("gaps", "t"), 6, 'not where rows = "token"'),
        (TOKENS + ID, 4, "time is missing"),
        (TOKENS + cell("time", "t"), 4, "request_id is missing"),
        (
            REQUESTS + SENT + cell("token_times", "a") + cell("first_token", "b"),
            7, "token_times says it already",
        ),
        (
            REQUESTS + SENT + cell("gaps", "a", since="sent") + cell("first_token", "b"),
            7, "gaps says it already",
        ),
        (REQUESTS + SENT + 'token_counts = "n"\n', 6, "no token_times or gaps"),
        (
            REQUESTS + SENT + 'status = { column = "s", values = { ok = "complete" } }\n',
            6, "did you mean completed",
        ),
        (
            TOKENS + ID + cell("time", "t") + 'event = { column = "e", other = "skip" }\n',
            7, "no event is called 'skip'",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(UsageError, match=f"--map, line {line}: .*{said}"):
        read_map(text)


def test_what_is_no_toml_says_so() -> None:
    with pytest.raises(UsageError, match=r"not TOML: .*line 2.*in quotes"):
        read_map('rows = "request"\nvantage = client\n')
