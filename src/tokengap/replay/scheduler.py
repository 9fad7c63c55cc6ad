"""What a worker's next step is made of.

A scheduler looks at a worker that is between two steps and says which prompts, or pieces of them,
the next one prefills. If it says none, the running requests get a token each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tokengap.errors import UsageError
from tokengap.replay.request import Request
from tokengap.replay.service import UNBOUNDED_TOKENS

if TYPE_CHECKING:
    from tokengap.replay.worker import Worker

Piece = tuple[Request, int, int]
"""A request, and the tokens of its prompt from one to another."""


class Scheduler(Protocol):
    """Composes steps."""

    @property
    def mixes(self) -> bool:
        """Whether running requests get a token in a step that prefills."""
        ...

    @property
    def longest_prompt_tokens(self) -> int:
        """Longer prompts can never be taken."""
        ...

    def compose(self, worker: "Worker") -> list[Piece]:
        """Prompts that the next step prefills; those that are new in it are admitted."""
        ...


@dataclass(frozen=True)
class PrefillFirst:
    """Whole prompts before anything else: running requests wait until the queue is empty."""

    max_tokens: int = UNBOUNDED_TOKENS
    """Of all prompts of a step."""
    max_prompts: int = UNBOUNDED_TOKENS

    mixes = False

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.max_prompts < 1:
            raise UsageError("a step prefills 1 token and 1 prompt or more")

    @property
    def longest_prompt_tokens(self) -> int:
        """A prompt is not divided."""
        return self.max_tokens

    def compose(self, worker: "Worker") -> list[Piece]:
        """Queued prompts in order, up to the first that does not fit."""
        pieces: list[Piece] = []
        left = self.max_tokens
        while worker.waiting and len(pieces) < self.max_prompts:
            request = next(iter(worker.waiting))
            if request.context > left or not worker.fits(request, len(pieces)):
                break
            worker.admit(request)
            pieces.append((request, 0, request.context))
            left -= request.context
        return pieces


@dataclass(frozen=True)
class Chunked:
    """Running requests get their token at every step; prompts share what is left of a budget."""

    budget_tokens: int
    """Tokens of a step, of which every running request takes one."""

    mixes = True
    longest_prompt_tokens = UNBOUNDED_TOKENS

    def __post_init__(self) -> None:
        if self.budget_tokens < 1:
            raise UsageError("a budget of 0 tokens prefills nothing; give 1 or more")

    def compose(self, worker: "Worker") -> list[Piece]:
        """The prompt already begun, then queued ones in order, up to the first that does not fit.

        With nobody running, the whole budget is for prompts, so that one of them goes on.
        """
        pieces: list[Piece] = []
        left = self.budget_tokens - len(worker.batch.running)
        while left > 0:
            request = worker.begun if not pieces else None
            if request is None:
                request = next(iter(worker.waiting), None)
                if request is None or not worker.fits(request, len(pieces)):
                    break
                worker.admit(request)
            stop = min(request.context, request.prefilled + left)
            pieces.append((request, request.prefilled, stop))
            left -= stop - request.prefilled
        return pieces
