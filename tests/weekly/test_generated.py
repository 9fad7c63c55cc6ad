"""The plain verdicts on generated requests are those of the query library on their logs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.queries.given import Library, loaded_library
from tests.weekly.generated import BATCH, BOUNDARY, CHAT, SLOWDOWN, Law, of_week
from tests.weekly.plain import Verdicts, judge
from tests.weekly.stored import SLO_FILE, write_logs
from tokengap.slo.limits import sql_parameter
from tokengap.slo.model import SloFile, limits_of
from tokengap.slo.services import read_services
from tokengap.store.connect import Declared
from tokengap.weekly.calendar import Week

pytestmark = pytest.mark.xdist_group("generated")
"""One process makes what all of them look at."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with loaded_library((), tmp_path_factory.mktemp("parts")) as library:
        yield library


@pytest.fixture(scope="module")
def slo() -> SloFile:
    return read_services(SLO_FILE)


@pytest.mark.parametrize(
    ("law", "week"),
    [(CHAT, SLOWDOWN), (BATCH, BOUNDARY.back(1)), (BATCH, BOUNDARY)],
    ids=["slowdown", "in the first gap", "inside ttft"],
)
def test_each_request_is_judged_as_the_library_judges_it(
    law: Law, week: Week, library: Library, slo: SloFile, tmp_path: Path
) -> None:
    (service,) = (each for each in slo.services if each.name == law.service)
    truth = [judge(request, service) for request in of_week(law, week)]
    write_logs((one.request for one in truth), tmp_path / "logs")
    library.read((tmp_path / "logs").iterdir(), Declared(vantage=law.vantages[0]))
    for slo_class in law.classes:
        of_class = [one for one in truth if one.request.facts["slo_class"] == slo_class]
        assert _by_library(library, of_class) == {o.request.name: _plain(o) for o in of_class}
        assert {o.is_offered for o in of_class} == {o.is_good for o in of_class} == {True, False}


def _by_library(library: Library, truth: list[Verdicts]) -> dict[str, object]:
    """What the library says of these requests, which have the same limits."""
    names = {one.request.name for one in truth}
    limits = sql_parameter(limits_of(truth[0].goals, "test"))
    rows = library.rows(f"request_verdicts({limits})")
    return {
        row["request_id"]: (
            row["offered"], row["good"], row["stall"], row["met"], row["missed"], row["unknown"],
        )
        for row in rows
        if row["request_id"] in names
    }  # fmt: skip


def _plain(one: Verdicts) -> object:
    lists = [
        sorted(name for name, found in one.by_statistic.items() if found == verdict)
        for verdict in ("met", "missed", "unknown")
    ]
    return (one.is_offered, one.is_good, one.stall, *lists)
