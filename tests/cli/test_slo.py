import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import tokengap
from tests.slo.given import FULL, full
from tokengap.slo.document import parse_toml
from tokengap.slo.services import services_of


@pytest.fixture
def slo(tmp_path: Path) -> Path:
    path = tmp_path / "slo.toml"
    path.write_text(FULL, "utf-8")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One request, planned at 0, sent at 0.5 s; tokens at 1 s, 1.45 s, 1.46 s: 450 ms at worst."""
    path = tmp_path / "log.jsonl"
    row: dict[str, Any] = {
        "request_id": "a",
        "vantage": "client",
        "planned_ns": 0,
        "sent_ns": 500_000_000,
        "times_ns": [1_000_000_000, 1_450_000_000, 1_460_000_000],
        "status": "completed",
    }
    path.write_text(json.dumps(row) + "\n", "utf-8")
    return path


def test_check_says_what_a_file_means(slo: Path) -> None:
    ran = tokengap("slo", "check", str(slo), "--as-of", "2026-10-31")
    assert (ran.code, ran.err) == (0, "")
    assert "    worst_gap <= 500 ms in 99 % of requests; from 2026-01-01\n" in ran.out


def test_check_names_the_line_and_the_fix(slo: Path) -> None:
    slo.write_text(FULL.replace('vantage = "client"', 'vantag = "client"'), "utf-8")
    ran = tokengap("slo", "check", str(slo))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tokengap: {slo}:5: service.vantag: no such key (did you mean vant")


def test_what_is_exported_is_imported_as_the_same(slo: Path, tmp_path: Path) -> None:
    exported = tmp_path / "slo.yaml"
    assert tokengap("slo", "export", str(slo), "--out", str(exported)).code == 0
    back = tokengap("slo", "import", str(exported))
    assert services_of(parse_toml(back.out, "back")) == full()
    piped = tokengap("slo", "import", "-", stdin=exported.read_bytes())
    assert (piped.out, piped.err) == (back.out, "")


def test_an_output_is_not_overwritten_unless_asked(slo: Path) -> None:
    again = ("slo", "export", str(slo), "--out", str(slo))
    assert tokengap(*again).code == 2
    assert slo.read_text("utf-8") == FULL
    assert tokengap(*again, "--force").code == 0


def test_import_says_what_it_leaves_out_and_from_when_objectives_hold(
    slo: Path, tmp_path: Path
) -> None:
    text = tokengap("slo", "export", str(slo)).out
    foreign = tmp_path / "foreign.yaml"
    foreign.write_text(
        text.replace("tokengap/from: '2026-01-01'", "acme/page: x").replace(
            "kind: Service\nmetadata:\n", "kind: Service\nmetadata:\n  displayName: X\n"
        ),
        "utf-8",
    )
    refused = tokengap("slo", "import", str(foreign))
    assert (refused.code, "--from" in refused.err) == (2, True)
    ran = tokengap("slo", "import", str(foreign), "--from", "2026-01-01")
    assert services_of(parse_toml(ran.out, "back")) == full()
    assert ran.err.count("metadata.displayName\n") == 2
    assert "metadata.annotations.acme/page" in ran.err


@pytest.mark.parametrize(
    ("day", "options", "limit_ns", "gap_missed", "ttft_missed"),
    [
        ("2026-10-31", (), 500_000_000, 0, 1),  # 1 s since it was planned
        ("2026-11-01", ("--origin", "sent"), 400_000_000, 1, 0),  # 0.5 s since it was sent
    ],
)
def test_an_audit_judges_by_the_service_of_the_day(
    log: Path, slo: Path, day: str, options: Sequence[str], limit_ns: int, gap_missed: int,
    ttft_missed: int,
) -> None:  # fmt: skip
    service = ("--slo", str(slo), "--service", "chat", "--as-of", day, "--limit", "ttft=900ms")
    found = tokengap("audit", str(log), *service, *options, "--json").json()
    rows = {row["statistic"]: row for row in found["objectives"]}
    assert {name: row["limit_ns"] for name, row in rows.items()} == {
        "ttft": 900_000_000,
        "worst_gap": limit_ns,
    }
    assert (rows["worst_gap"]["missed"], rows["ttft"]["missed"]) == (gap_missed, ttft_missed)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--slo", "{slo}", "--service", "chta"), "no such service (did you mean chat?); it has"),
        (("--slo", "{slo}", "--service", "batch", "--as-of", "2025-01-01"), "has no limit that"),
        (("--service", "chat"), "say in which file, with --slo"),
        (("--slo", "{slo}", "--as-of", "2026-01-01"), "give --service too"),
        (("--slo", "{slo}", "--service", "chat", "--as-of", "0001-01-01"), "a year after 1"),
        (("--slo", "{slo}"), ":1: [[service]] holds objectives by date"),
    ],
)
def test_a_service_that_cannot_be_judged_by_is_refused(
    log: Path, slo: Path, options: tuple[str, ...], said: str
) -> None:
    ran = tokengap("audit", str(log), *(option.format(slo=slo) for option in options))
    assert (ran.code, said in ran.err) == (2, True), ran.err
