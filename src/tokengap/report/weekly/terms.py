"""The words of the weekly report, in a sentence each."""

from typing import Final

from tokengap.report.section import Section

TERMS: Final = {
    "week": "Monday to Sunday in UTC, by the instant from which a request's times count",
    "promise": "a limit, and the share of requests that shall keep it",
    "all limits": "good requests of all offered: completed, and every limit that applies met",
    "kept": "met / (met + missed + unknown) requests; unknown where the log does not decide",
    "95 % interval": "Wilson's, for independent requests; by hours, from resampled whole hours",
    "error budget": "the requests that a target allows to miss over its window",
    "burn rate": "how fast the budget goes: 1 spends it exactly over its window",
    "at equal mix": "with both weeks weighted to the same lengths of prompts and answers",
    "cannot tell": "the interval of the difference holds none; a smaller one may be there",
    "not comparable": "the weeks do not measure the same thing, or one has too few requests",
    "hidden stall": "a completed request that meets its average TPOT and misses its worst gap",
    "coverage": "hours with requests of the hours that are due",
    "goodput": "good requests per second of the hours with data",
}


def terms(scope: str) -> Section:
    """What the words mean."""
    return Section("terms", "Definitions", "", scope, terms=TERMS)
