import re
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokengap.adapters.shared.lines import LineError
from tokengap.adapters.shared.wall_time import rfc3339_column, rfc3339_ns

# 2023-08-04T15:52:19Z is 1,691,164,339 s after 1970.
S = 1_691_164_339


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("2023-08-04T15:52:19Z", S * 10**9),
        ("2023-08-04t15:52:19z", S * 10**9),
        ("2023-08-04 15:52:19.5Z", S * 10**9 + 500_000_000),
        ("2023-08-04T08:52:19.385406455-07:00", S * 10**9 + 385_406_455),
        ("2023-08-04T21:37:19.000000001+05:45", S * 10**9 + 1),
        ("1969-12-31T23:59:59.75Z", -250_000_000),
    ],
)
def test_every_digit_and_every_zone_counts(text: str, expected_ns: int) -> None:
    assert rfc3339_ns(text, "t") == expected_ns


@pytest.mark.parametrize(
    "text",
    [
        "2023-08-04T15:52:19",
        "2023-08-04",
        "2023-02-30T00:00:00Z",
        "2023-08-04T15:52:19.1234567890Z",
        "2300-01-01T00:00:00Z",
        "1691164339",
        "",
    ],
)
def test_what_is_no_time_with_a_zone_is_refused_by_name(text: str) -> None:
    with pytest.raises(LineError, match=r"^created_at: ") as caught:
        rfc3339_ns(text, "created_at")
    assert caught.value.field == "created_at"


ODD = [
    "2023-08-04t15:52:19z",
    "2023-08-04 15:52:19.5Z",
    "2023-08-04T15:52:19+23:59",
    "2023-08-04T15:52:19+24:00",
    "2023-08-04T15:52:19+0100",
    "2023-08-04T15:52:60Z",
    "2023-08-04T24:00:00Z",
    "2023-02-29T00:00:00Z",
    "1822-01-01T00:00:00Z",
    "1677-01-01T00:00:00Z",
    "2117-01-01T00:00:00Z",
    "2300-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "2023-08-04T15:52Z",
    "2023-08-04T15:52:19.Z",
    "2023-08-04T15:52:19.1234567890Z",
    "2023-08-04T15:52:19Z\n",
    "2023-08-04",
    "soon",
    "",
]
USUAL = st.datetimes(datetime(1700, 1, 1), datetime(2400, 1, 1)).map(  # noqa: DTZ001
    lambda there: there.isoformat() + "Z"
)


@given(st.lists(st.none() | st.sampled_from(ODD) | USUAL))
def test_columns_are_read_and_refused_as_single_values_are(texts: list[str | None]) -> None:
    ns, wrong = rfc3339_column(pa.array(texts, pa.string()), "t")
    for row, (text, found) in enumerate(zip(texts, ns.to_pylist(), strict=True)):
        if row in wrong:
            with pytest.raises(LineError, match=re.escape(wrong[row].reason)):
                rfc3339_ns(text or "", "t")
        else:
            assert found == (None if text is None else rfc3339_ns(text, "t"))


@given(st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
def test_microseconds_as_the_standard_library_has_them(naive: datetime) -> None:
    there = naive.replace(tzinfo=UTC)
    whole = there.replace(microsecond=0)
    assert rfc3339_ns(there.isoformat(), "t") == (
        int(whole.timestamp()) * 10**9 + there.microsecond * 1_000
    )
