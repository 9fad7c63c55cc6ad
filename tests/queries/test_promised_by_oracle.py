"""The relations that judge services day by day, against the oracle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.queries import oracle_promised as right
from tests.queries.comparing import assert_same_rows, differences, same
from tests.queries.given import MS, Library, Row, limits
from tests.queries.oracle_promised import DAY_NS, HOUR_NS, Held, Members
from tests.queries.promising import STAMPS, promise, show
from tests.queries.strategies import populations
from tokengap.slo import STATISTICS
from tokengap.slo.model import MATCHED

pytestmark = pytest.mark.usefixtures("nothing_promised_afterwards")


LIMITS = st.dictionaries(
    st.sampled_from(list(STATISTICS)),
    st.sampled_from([200_000, 1_000_000, 2_500_000, 5_000_000, 20_000_000]),
    max_size=5,
)


@st.composite
def stores(draw: st.DrawFn) -> list[Row]:
    """Requests of several tenants on three days, with or without a wall clock."""
    rows: list[Row] = draw(populations())
    facts: dict[tuple[str, str], Row] = {}
    shifts: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["trace"], row["request_id"]
        if key not in facts:
            hour = draw(st.sampled_from([1, 5, 23]))
            shifts[key] = draw(st.integers(1, 3)) * DAY_NS + hour * HOUR_NS
            facts[key] = {
                "clock_kind": draw(st.sampled_from(["wall", "wall", "monotonic"])),
                "tenant": draw(st.sampled_from(["acme", None])),
                "slo_class": draw(st.sampled_from(["gold", "free"])),
                "decode_worker": draw(st.sampled_from(["d0", None])),
                "prefill_worker": draw(st.sampled_from(["p0", None])),
            }
    return [
        row | facts[key]
        | {name: row[name] + shifts[key] for name in STAMPS if row.get(name) is not None}
        for row in rows for key in [(row["trace"], row["request_id"])]
    ]  # fmt: skip


@st.composite
def promises(draw: st.DrawFn) -> tuple[Members, list[Held]]:
    """Three profiles, each with limits of its own on every day, or not judged on some."""
    members: Members = {
        (deployment, None, tenant, slo_class): draw(st.integers(0, 2))
        for deployment in ("d", None) for tenant in ("acme", None) for slo_class in ("gold", "free")
        if draw(st.integers(0, 5))
    }  # fmt: skip
    held = []
    for profile in range(3):
        vantage = draw(st.sampled_from(["client", "client", "engine", "gateway"]))
        for day in (None, 1, 2, 3):
            if draw(st.integers(0, 5)):
                start = (day or 0) * DAY_NS + draw(st.sampled_from([0, HOUR_NS, 5 * HOUR_NS]))
                spans = [(start, start + draw(st.sampled_from([10 * MS, 2 * HOUR_NS])))]
                held.append(
                    Held(profile, day, vantage, draw(LIMITS), draw(st.sampled_from([(), spans])))
                )
    return members, held


def ordered(rows: list[Row]) -> list[Row]:
    names = ("profile", "trace", "request_id", "hour", "block", "prompt_bin", "output_bin",
             "finished", "statistic", "dimension", "value", "origin", "granularity",
             "handoff_place", "deployment", "day")  # fmt: skip
    return sorted(rows, key=lambda row: [str(row[name]) for name in names if name in row])


def assert_same_requests(found: list[Row], expected: list[Row]) -> None:
    assert len(found) == len(expected)
    for row, other in zip(ordered(found), ordered(expected), strict=True):
        told, ratios = row.pop("furthest"), other["furthest"]
        assert differences(row, {k: v for k, v in other.items() if k != "furthest"}) == {}
        if told is None:  # a bound of nothing over no token is no ratio
            assert not any(ratios.values())
            continue
        most = max(ratios.values())
        assert same(told["ratio"], most)
        assert ratios[told["statistic"]] == pytest.approx(most, rel=1e-12)
        assert told["value_ns"] / told["limit_ns"] == pytest.approx(most, rel=1e-12)


@given(stores(), promises(), st.sampled_from([HOUR_NS, DAY_NS, 10 * MS]))
@settings(max_examples=20)
def test_everything_is_as_promised(
    library: Library, rows: list[Row], promised: tuple[Members, list[Held]], block_ns: int
) -> None:
    members, held = promised
    show(library, rows, members, held)
    expected = right.requests(rows, members, held)
    assert_same_requests(library.rows("promised_requests"), expected)
    for relation, of in {
        "promised_hours": right.hours(expected),
        f"promised_cells({block_ns})": right.cells(expected, block_ns),
        "promised_contributors": right.contributors(expected),
        "promised_places": right.places(expected),
        "promised_work": right.works(expected),
    }.items():
        assert_same_rows(ordered(library.rows(relation)), ordered(of))
    worst = library.rows("promised_worst")
    assert [row["ratio"] for row in worst] == sorted((row["ratio"] for row in worst), reverse=True)
    for row in worst:
        assert row.pop("statistic") in row["missed"]
        assert row.pop("value_ns") / row.pop("limit_ns") == pytest.approx(row["ratio"])
    assert_same_rows(ordered(worst), ordered(right.worst(expected)))


@given(stores(), LIMITS)
@settings(max_examples=15)
def test_where_limits_do_not_change_it_is_an_audit(
    library: Library, rows: list[Row], limits_ns: dict[str, int]
) -> None:
    limits_ns = {name: limits_ns[name] for name in STATISTICS if name in limits_ns}
    members = {tuple(row.get(column) for column in MATCHED): 0 for row in rows}
    library.bind(rows)
    vantage = next(
        (row["vantage"] for row in library.rows("judged_vantages") if row["judged"]), "client"
    )
    days = (None, 1, 2, 3)
    promise(library, members, [Held(0, day, vantage, limits_ns) for day in days])
    asked = limits(**limits_ns)
    verdicts = library.rows(f"request_verdicts({asked})", "trace, request_id")
    promised = library.rows("promised_requests", "trace, request_id")
    names = ("trace", "request_id", "status", "output_tokens", "offered", "good", "stall")
    assert [[row[name] for name in names] for row in promised] == [
        [row[name] for name in names] for row in verdicts
    ]
    for row, other in zip(promised, verdicts, strict=True):
        for verdict in ("met", "missed", "unknown"):
            told = sorted(name for name in STATISTICS if row[name] == verdict)
            assert told == other[verdict]
    found = library.rows("promised_hours")
    for row in library.rows(f"objective_attainment({asked})") if limits_ns else []:
        for verdict in ("met", "missed", "unknown"):
            total = sum(hour[row["statistic"]][verdict] for hour in found)
            assert total == row[verdict]
