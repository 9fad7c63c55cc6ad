import doctest
from datetime import date

from tests.slo.given import full
from tokengap.slo import meaning as module
from tokengap.slo.meaning import meaning


def test_a_day_is_told_in_words() -> None:
    assert (
        meaning(full(), date(2026, 10, 15))
        == """\
chat: Assistants of the web page
  takes    requests with deployment chat-*, slo_class interactive or premium
  judged   at client, times from planned, handoff boundary engine
  budget   28 days that roll, now 2026-09-18 to before 2026-10-16 UTC
  promised on 2026-10-15
    worst_gap <= 500 ms in 99 % of requests; from 2026-01-01
    worst_gap <= 300 ms in 99.5 % of requests; from 2026-06-01; slo_class premium only, instead of \
what holds for all
    worst_gap <= 250 ms in 90 % of requests; from 2026-06-01 until before 2026-12-01; tenant \
acme-* only, instead of what holds for all
    good: 95 % of the offered requests meet every limit; from 2026-01-01
  promised later
    worst_gap <= 400 ms in 99 % of requests; from 2026-11-01
  excluded 2026-11-21 02:00 to 2026-11-21 04:00 UTC: New kernels on all hosts

batch
  takes    every request that no service above takes
  judged   at the outermost vantage that can answer, times from the vantage's own stamp, handoff \
boundary stream
  budget   a month of the calendar, now 2026-10-01 to before 2026-11-01 UTC
  promised on 2026-10-15
    e2e <= 600 s in 90 % of requests; from 2026-01-01

deployments on 2026-10-15
  chat-eu: 24 GPUs; from 2026-10-01
"""
    )


def test_before_anything_holds_nothing_is_promised() -> None:
    text = meaning(full(), date(2025, 1, 1))
    assert text.count("promised on 2025-01-01: nothing") == 2


def test_all_that_is_known_of_a_deployment_is_told() -> None:
    told = meaning(full(), date(2026, 9, 30)).splitlines()[-1]
    assert told == "  chat-eu: 16 GPUs, 38.4 EUR per hour, 11200 W; from 2026-01-01"


def test_the_examples_in_the_docstring_hold() -> None:
    assert doctest.testmod(module) == (0, 1)
