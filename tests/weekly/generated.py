"""Thirteen weeks of requests to two services, of which six are not like the others.

A request is a short question or a long document. Its law says how long it waits, whatever else is
asked meanwhile: for its first token a time that grows with the prompt, and between two tokens a
step, before which one in some hundred stalls. So a week with more documents keeps fewer promises,
and none of its requests is served worse.

    2026-W39  mix        more of the requests to chat are documents
    2026-W41  slowdown   one worker of chat stalls more often, and starts later
    2026-W43  hole       nothing is known of chat for 19 hours
    2026-W44  exclusion  chat is down for 3 hours that `slo.toml` excludes
    2026-W45  late       half of a day's requests come in a file of their own, 5 days later
    2026-W46  boundary   from here on the decode side of batch emits the first token, too
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, chain
from typing import Final

import numpy as np

from tokengap.utc import HOUR_NS
from tokengap.weekly.calendar import HOURS, Week, parse_week

MS: Final = 10**6
SEED: Final = 20261130
WEEKS: Final = tuple(parse_week("2026-W48").up_to(13))
MIX, SLOWDOWN, HOLE, EXCLUSION, LATE, BOUNDARY = (
    parse_week(f"2026-W{number}") for number in (39, 41, 43, 44, 45, 46)
)
HOLE_SPAN: Final = datetime(2026, 10, 20, 13, tzinfo=UTC), datetime(2026, 10, 21, 8, tzinfo=UTC)
EXCLUDED_SPAN: Final = (
    datetime(2026, 10, 28, 2, tzinfo=UTC), datetime(2026, 10, 28, 5, tzinfo=UTC),
)  # fmt: skip
LATE_DAY: Final = date(2026, 11, 3)
LATE_BY: Final = timedelta(5)
SLOW_WORKER: Final = "w3"
RETRIED_AFTER_NS: Final = 2_000 * MS

_FATES: Final = {
    "completed": 0.945, "failed": 0.015, "rejected": 0.005, "timed_out": 0.005, "truncated": 0.005,
    "cancelled": 0.02, "in_flight": 0.005,
}  # fmt: skip
_TENANTS: Final = {"acme": 0.5, "globex": 0.3, "initech": 0.2}
_MODELS: Final = {"small": 0.7, "large": 0.3}
_WORKERS: Final = {"w0": 0.25, "w1": 0.25, "w2": 0.25, SLOW_WORKER: 0.25}
_LENGTHS: Final = {False: (300, 12), True: (3000, 45)}
"""Medians of prompt and answer: of a question, of a document."""
_SHARE: Final = {"one_token": 0.03, "two_choices": 0.03, "retried": 0.02, "not_streamed": 0.01,
                 "no_handoff": 0.1, "at_gateway_too": 0.1}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """How a service is used, and how it serves a request of given lengths."""

    service: str
    requests: int
    """In a week."""
    vantages: tuple[str, ...]
    """Where requests are logged; at the later ones only some of them."""
    classes: dict[str, float]
    deployments: dict[str, float]
    document_share: float
    ttft_ms: float
    """Without the prompt, which adds 0.1 ms a token; and a chance of 80 ms on average."""
    step_ms: float
    stall_share: float
    """Of the gaps; a stall takes 150 ms, and 200 ms on average on top."""
    handoff_ms: float | None = None
    """And 0.02 ms a token of the prompt, and 30 ms on average."""
    last_prefill_token: int = 1
    """0: the handoff is before the first token, else in the first gap."""


CHAT: Final = Law(
    "chat", 900, ("client", "gateway"), {"gold": 0.25, "standard": 0.75},
    {"chat-eu": 0.85, "shared-eu": 0.15}, 0.25, ttft_ms=120, step_ms=20, stall_share=0.002,
)  # fmt: skip
BATCH: Final = Law(
    "batch", 600, ("gateway",), {"batch": 1.0},
    {"batch-eu": 0.8, "shared-eu": 0.2}, 0.7, ttft_ms=400, step_ms=30, stall_share=0.002,
    handoff_ms=80,
)  # fmt: skip


def law_of(law: Law, week: Week, worker: str) -> Law:
    """The law of the service in that week, for requests that this worker serves."""
    if law is CHAT and week == MIX:
        return replace(law, document_share=0.6)
    if law is CHAT and week == SLOWDOWN and worker == SLOW_WORKER:
        return replace(law, ttft_ms=law.ttft_ms + 400, stall_share=25 * law.stall_share)
    if law is BATCH and week >= BOUNDARY:
        return replace(law, last_prefill_token=0)
    return law


@dataclass(frozen=True)
class Answer:
    """One choice of the attempt that is judged."""

    status: str
    times_ns: tuple[int, ...]
    """Of its tokens; of an answer that came as one body, of all of them together."""
    output_tokens: int
    close_ns: int

    @property
    def is_body(self) -> bool:
        """It came as one body."""
        return self.output_tokens > len(self.times_ns)


@dataclass(frozen=True)
class Request:
    """A request, as those who serve it know it."""

    service: str
    name: str
    sent_ns: int
    """Of the attempt that is judged."""
    first_sent_ns: int
    """Of the first attempt: earlier if that one was rejected."""
    facts: dict[str, str]
    """tenant, model, deployment, slo_class and decode_worker."""
    prompt_tokens: int
    last_prefill_token: int | None
    """None without a handoff."""
    vantages: tuple[str, ...]
    answers: tuple[Answer, ...]

    @property
    def sent(self) -> datetime:
        """When it was sent, to the second."""
        return datetime.fromtimestamp(self.sent_ns // 10**9, UTC)

    @property
    def is_late(self) -> bool:
        """It is in the file that is loaded late."""
        return self.sent.date() == LATE_DAY and int(self.name.rsplit("-", 1)[1]) % 2 == 1


def requests() -> list[Request]:
    """All thirteen weeks; always the same."""
    return list(chain.from_iterable(of_week(law, week) for week in WEEKS for law in (CHAT, BATCH)))


def of_week(law: Law, week: Week) -> Iterator[Request]:
    """Requests of one service in one week: at least one in every hour, and more by day."""
    rng = np.random.default_rng([SEED, *law.service.encode(), week.first.toordinal()])
    by_hour = 1 + np.sin(np.arange(HOURS) % 24 * np.pi / 24) ** 4 * 3
    drawn = rng.choice(HOURS, law.requests - HOURS, p=by_hour / by_hour.sum())
    for number, hour in enumerate(np.sort(np.concatenate([np.arange(HOURS), drawn])).tolist()):
        # Attempts of one request stay within the hour.
        sent_ns = week.start_ns + hour * HOUR_NS + int(rng.integers(10 * 10**9, 3500 * 10**9))
        request = _request(rng, law, week, f"{law.service}-{week}-{number}", sent_ns)
        if law is not CHAT or not HOLE_SPAN[0] <= request.sent < HOLE_SPAN[1]:
            yield request


def _request(rng: np.random.Generator, law: Law, week: Week, name: str, sent_ns: int) -> Request:
    facts = {
        "tenant": _pick(rng, _TENANTS), "model": _pick(rng, _MODELS),
        "deployment": _pick(rng, law.deployments), "slo_class": _pick(rng, law.classes),
        "decode_worker": _pick(rng, _WORKERS),
    }  # fmt: skip
    law = law_of(law, week, facts["decode_worker"])
    if law.handoff_ms is not None and rng.random() < _SHARE["no_handoff"]:
        law = replace(law, handoff_ms=None)
    prompt, output = _lengths(rng, is_document=rng.random() < law.document_share)
    down = law.service == "chat" and _within(sent_ns, EXCLUDED_SPAN)
    fate = "failed" if down else _pick(rng, _FATES)
    retried = rng.random() < _SHARE["retried"]
    both = rng.random() < _SHARE["at_gateway_too"] and not retried
    choices = 1 + (fate == "completed" and rng.random() < _SHARE["two_choices"])
    return Request(
        service=law.service,
        name=name,
        sent_ns=sent_ns,
        first_sent_ns=sent_ns - RETRIED_AFTER_NS if retried else sent_ns,
        facts=facts,
        prompt_tokens=prompt,
        last_prefill_token=None if law.handoff_ms is None else law.last_prefill_token,
        vantages=law.vantages if both else law.vantages[:1],
        answers=tuple(_answer(rng, law, sent_ns, prompt, output, fate) for _ in range(choices)),
    )


def _lengths(rng: np.random.Generator, *, is_document: bool) -> tuple[int, int]:
    """Tokens of the prompt and of the answer."""
    prompt, output = (int(length * rng.lognormal(0, 0.4)) for length in _LENGTHS[is_document])
    return prompt, 1 if rng.random() < _SHARE["one_token"] else max(output, 2)


def _answer(
    rng: np.random.Generator, law: Law, sent_ns: int, prompt: int, output: int, fate: str
) -> Answer:
    times_ns = _times(rng, law, sent_ns, prompt, output)
    last_ns = times_ns[-1]
    if fate == "completed":
        is_body = output > 1 and rng.random() < _SHARE["not_streamed"]
        return Answer(fate, (last_ns,) if is_body else tuple(times_ns), output, last_ns + MS)
    if fate in ("rejected", "timed_out"):
        waited_ms = 5 if fate == "rejected" else 30_000
        return Answer(fate, (), 0, sent_ns + waited_ms * MS)
    seen = tuple(times_ns[: int(rng.integers(output))])
    waited_ns = int(rng.exponential(200 if seen else 500) * MS)
    return Answer(fate, seen, len(seen), (seen[-1] if seen else sent_ns) + waited_ns)


def _times(rng: np.random.Generator, law: Law, sent_ns: int, prompt: int, output: int) -> list[int]:
    """When each token came."""
    waits_ms = law.step_ms * rng.lognormal(0, 0.2, output)
    stalled = np.flatnonzero(rng.random(output) < law.stall_share)
    waits_ms[stalled] += 150 + rng.exponential(200, len(stalled))
    waits_ms[0] = law.ttft_ms + 0.1 * prompt + rng.gamma(2, 40)
    if law.handoff_ms is not None and law.last_prefill_token < output:
        handoff_ms = law.handoff_ms + 0.02 * prompt + rng.exponential(30)
        waits_ms[law.last_prefill_token] += handoff_ms
    times: list[int] = (sent_ns + np.cumsum((waits_ms * MS).astype(np.int64))).tolist()
    return times


def _pick(rng: np.random.Generator, shares: dict[str, float]) -> str:
    """One of the keys, as often as its share says."""
    drawn = rng.random()
    for key, upto in zip(shares, accumulate(shares.values()), strict=True):
        if drawn < upto:
            return key
    return key  # the shares add up to a little less than 1


def _within(instant_ns: int, span: tuple[datetime, datetime]) -> bool:
    return span[0] <= datetime.fromtimestamp(instant_ns // 10**9, UTC) < span[1]
