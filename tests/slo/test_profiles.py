from dataclasses import replace
from datetime import date, timedelta
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.slo.given import DAYS, files, full
from tokengap.slo.model import MATCHED, SloFile
from tokengap.slo.profiles import Columns, Profile, profiles_of

NOVEMBER = date(2026, 11, 10)
BATCH: Columns = ("night", None, None, None)


def chat(tenant: str | None = None, slo_class: str = "interactive") -> Columns:
    return ("chat-eu", "llama", tenant, slo_class)


def limits(profile: Profile, day: date) -> dict[str, int | None]:
    return {name: goal.limit_ns for name, goal in profile.goals(day).items()}


def test_requests_of_the_same_promises_are_judged_together() -> None:
    """Of acme there is a promise of its own, and of the class premium."""
    seen = [
        chat(), chat("bob"), chat("acme-1"), chat("acme-2"), chat(slo_class="premium"),
        chat("acme-1", "premium"), BATCH, ("chat-us", None, None, "premium"),
    ]  # fmt: skip
    profiles, strangers = profiles_of(full(), seen)
    assert [(p.number, p.service.name, p.members) for p in profiles] == [
        (0, "chat", [seen[0], seen[1]]),
        (1, "chat", [seen[2], seen[3]]),
        (2, "chat", [seen[4], seen[7]]),
        (3, "chat", [seen[5]]),
        (4, "batch", [BATCH]),
    ]
    assert strangers == []


def test_what_fits_no_service_is_a_stranger() -> None:
    """The second service of the file takes everything that the first does not."""
    slo = replace(full(), services=full().services[:1])
    profiles, strangers = profiles_of(slo, [BATCH, chat(), ("chat-eu", None, None, None)])
    assert [p.members for p in profiles] == [[chat()]]
    assert strangers == [BATCH, ("chat-eu", None, None, None)]
    assert profiles_of(full(), []) == ([], [])


def test_goals_are_those_of_the_day() -> None:
    ms = 1_000_000
    profiles, _ = profiles_of(full(), [chat(), chat("acme-1"), chat(slo_class="premium")])
    everybody, acme, premium = profiles
    assert limits(everybody, date(2025, 12, 31)) == {}
    assert limits(everybody, date(2026, 10, 31)) == {"worst_gap": 500 * ms, "good": None}
    assert limits(everybody, NOVEMBER) == {"worst_gap": 400 * ms, "good": None}
    assert limits(acme, NOVEMBER)["worst_gap"] == 250 * ms
    assert limits(acme, date(2026, 11, 30))["worst_gap"] == 250 * ms
    assert limits(acme, date(2026, 12, 1))["worst_gap"] == 400 * ms  # theirs has ended
    assert limits(premium, date(2026, 5, 31))["worst_gap"] == 500 * ms
    assert limits(premium, NOVEMBER)["worst_gap"] == 300 * ms


COLUMNS = st.lists(
    st.tuples(*[st.none() | st.sampled_from(["a", "chat-eu", "acme-1", "x0"]) for _ in MATCHED]),
    max_size=6,
    unique=True,
)


@given(files(), COLUMNS, DAYS, st.integers(0, 500))
@settings(max_examples=15)
def test_each_combination_is_judged_as_its_service_says(
    slo: SloFile, seen: list[Columns], day: date, later: int
) -> None:
    profiles, strangers = profiles_of(slo, seen)
    assert sorted([*strangers, *(m for p in profiles for m in p.members)], key=str) == sorted(
        seen, key=str
    )
    assert [profile.number for profile in profiles] == list(range(len(profiles)))
    for profile, when in product(profiles, (day, day + timedelta(later))):
        for columns in profile.members:
            request = dict(zip(MATCHED, columns, strict=True))
            assert slo.service_of(request) is profile.service
            held = profile.service.in_force(when, request)
            assert list(profile.goals(when).values()) == held
    for columns in strangers:
        assert slo.service_of(dict(zip(MATCHED, columns, strict=True))) is None
