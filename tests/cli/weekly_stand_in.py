"""A week made by hand in place of the queries, for tests of what surrounds them."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.report.weekly.gate_example import example
from tokengap.library import Catalogue
from tokengap.report.banner import Banner
from tokengap.report.whole import Report
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
    """Put it in place of the queries, and short texts in place of the report."""

    def put(name: str, **names: Any) -> None:
        module = ModuleType(name)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, name, module)

    report = Report("weekly", "chat, batch", "2026-W48", Banner("kept", "Kept.", [], []), [])
    asked = Asked()
    put("tokengap.findings.weekly", weekly=asked)
    put("tokengap.report.weekly.whole", compose=lambda _: report)
    put("tokengap.report.weekly.contract", contract_text=lambda _: "{}\n")
    put("tokengap.report.weekly.summary", summary=lambda _: "One paragraph.")
    put("tokengap.report.weekly.text", weekly_text=lambda _: "Text.\n")
    return asked
