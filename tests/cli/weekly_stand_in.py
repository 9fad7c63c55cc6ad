"""A week made by hand in place of the queries, for tests of what surrounds them."""

from pathlib import Path

import pytest

from tests.report.weekly.gate_example import example
from tokengap.library import Catalogue
from tokengap.slo.model import SloFile
from tokengap.store.tables import Store
from tokengap.weekly.calendar import Week
from tokengap.weekly.model import Weekly


class Asked:
    """Keeps what was asked for, and gives a week."""

    def __init__(self) -> None:
        self.found: Weekly = example()
        self.week: Week | None = None
        self.version: int | None = None

    def __call__(
        self,
        store: Store,
        slo_file: SloFile,
        week: Week,
        catalogue: Catalogue,
        scratch: Path,
    ) -> Weekly:
        assert store.version is not None
        assert slo_file.services
        assert "request_latency" in catalogue.public
        assert scratch.is_dir()
        self.week, self.version = week, store.version
        return self.found


def stand_in(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Put it in place of the queries."""
    asked = Asked()
    monkeypatch.setattr("tokengap.findings.weekly.weekly", asked)
    return asked
