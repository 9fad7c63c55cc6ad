"""What is said of the data's quality, and of values that are bounds."""

from tests.findings.given import said
from tokengap.findings.inexact import inexact
from tokengap.findings.quality import quality


def test_note_counts_its_streams_and_says_what_it_means() -> None:
    rows = [{"note": "end_not_seen", "streams": 60, "of": 60, "example": "0"}]
    (finding,) = said(quality, quality=rows)
    assert finding.says.startswith("end_not_seen: 60 of 60 streams")
    assert "a cut stream looks complete" in finding.says


def test_note_without_a_meaning_is_still_said() -> None:
    rows = [{"note": "moon_phase", "streams": 1, "of": 60, "example": "0"}]
    (finding,) = said(quality, quality=rows)
    assert finding.says == "moon_phase: 1 of 60 streams; moon phase."


def test_rejects_show_the_first_reason_and_where_the_rest_is() -> None:
    rows = [{"note": "rejected_records", "streams": 3, "of": 60, "example": "t_ns is null"}]
    (finding,) = said(quality, quality=rows)
    assert finding.says == "3 records were quarantined; the first: t_ns is null."
    assert finding.advice is not None
    assert "tokengap query rejects" in finding.advice


def test_other_vantages_are_named_and_not_pooled() -> None:
    client = {"vantage": "client", "streams": 60, "origins": ["sent"], "judged": True}
    engine = {"vantage": "engine", "streams": 58, "origins": ["arrival"], "judged": False}
    (finding,) = said(quality, vantages=[client, engine])
    assert "58 streams were seen at the engine" in finding.says
    assert finding.advice == "judge them with --vantage engine"


def test_bounds_are_summed_per_statistic_with_each_reason() -> None:
    rows = [
        {"statistic": "tpot", "reason": "split_unknown", "requests": 12, "of": 60},
        {"statistic": "tpot", "reason": "single_token", "requests": 3, "of": 60},
        {"statistic": "ttft", "reason": "origin_missing", "requests": 60, "of": 60},
    ]
    tpot, ttft = said(inexact, inexact=rows)
    assert tpot.says.startswith("Average TPOT: a bound or missing in 15 of 60")
    assert "(12)" in tpot.says
    assert "(3)" in tpot.says
    assert "--origin" in ttft.says
