"""What a rule is: it reads an audit and says, in sentences, what follows from it.

To add one: write `findings/<rule>.py` with a function of the same name, put it in `RULES`
(`findings/__init__.py`), and add a test under `tests/findings/`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tokengap.findings.audit import Audit


@dataclass(frozen=True)
class Finding:
    """One thing worth saying.

    rule: who says it. level: stall (users waited), unknown (the log does not decide) or note.
    says: one sentence with its numbers and units. advice: what to do about it.
    """

    rule: str
    level: str
    says: str
    advice: str | None = None


class Rule(Protocol):
    """A function from an audit to findings, most important first."""

    def __call__(self, audit: Audit) -> Iterator[Finding]:
        """Yield what this rule has to say; nothing if it has nothing to say."""
        ...
