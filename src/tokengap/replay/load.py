"""The requests of a log as a study wants them: fewer, faster, shorter, or arriving otherwise."""

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tokengap.errors import UsageError
from tokengap.replay.workload import MS_PER_S, NS_PER_MS, Workload, gamma_ms, on_off_ms
from tokengap.units import parse_duration_ns

AS_LOGGED: Final = "as-logged"
SYNTAX: Final = "as-logged, poisson, gamma=CV, on-off=ON,OFF or closed=USERS,THINK"
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True)
class Load:
    """What is changed of a log's requests; nothing, as it stands.

    arrivals: see `SYNTAX`; of the same mean rate. drawn: so many requests instead, drawn with
    replacement. leave_per_s: clients cancel at this rate while they wait.
    """

    requests: int | None = None
    rate_per_s: float | None = None
    longest_prompt_tokens: int | None = None
    arrivals: str = AS_LOGGED
    drawn: int | None = None
    leave_per_s: float = 0.0
    seed: int = 0

    def of(self, log: Workload) -> Workload:
        """The requests. UsageError for arrivals that cannot be made."""
        wanted = log if self.requests is None else log.first(self.requests)
        if self.drawn is not None:
            wanted = wanted.bootstrap(self.drawn, self.seed)
        if self.longest_prompt_tokens is not None:
            cut = np.minimum(wanted.prompt_tokens, self.longest_prompt_tokens)
            wanted = replace(wanted, prompt_tokens=cut)
        if self.rate_per_s is not None:
            wanted = wanted.at_rate(self.rate_per_s)
        wanted = self._arriving(wanted)
        return wanted.leaving(self.leave_per_s, self.seed) if self.leave_per_s else wanted

    def _arriving(self, wanted: Workload) -> Workload:
        kind, equals, said = self.arrivals.partition("=")
        values = said.split(",") if equals else []
        size, rate_per_s = len(wanted), wanted.rate_per_s
        match kind, values:
            case ("as-logged", []):
                return wanted
            case ("poisson", []):
                return wanted.arriving(gamma_ms(size, rate_per_s, 1.0, self.seed))
            case ("gamma", [cv]):
                return wanted.arriving(gamma_ms(size, rate_per_s, _number(cv), self.seed))
            case ("on-off", [on, off]):
                spans_s = (_ms(on) / MS_PER_S, _ms(off) / MS_PER_S)
                return wanted.arriving(on_off_ms(size, rate_per_s, *spans_s, self.seed))
            case ("closed", [users, think]):
                return wanted.closed_loop(int(_number(users)), _ms(think), self.seed)
        raise UsageError(f"arrivals {self.arrivals!r}: write {SYNTAX}")


def _ms(text: str) -> float:
    return parse_duration_ns(text) / NS_PER_MS


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise UsageError(f"arrivals: {text!r} is no number; write {SYNTAX}")
    return float(text)
