"""What a client asked for, from the JSON text of its request."""

from typing import Any, Final

import msgspec

from tokengap.adapters.shared.openai import asked_model, asked_tokens
from tokengap.adapters.shared.records import Records


class Body(msgspec.Struct):
    """The part of a request's body that is kept; clients send anything, so anything may stand."""

    model: Any = None
    max_completion_tokens: Any = None
    max_tokens: Any = None

    @property
    def model_name(self) -> str | None:
        """The model it names."""
        return asked_model({"model": self.model})

    @property
    def tokens(self) -> int | None:
        """Its output limit."""
        return asked_tokens(
            {"max_completion_tokens": self.max_completion_tokens, "max_tokens": self.max_tokens}
        )


class Asked(Body):
    """A request; `body` where a tool wraps its body in the arguments of its HTTP call."""

    body: "Asked | None" = None


_ASKED: Final = msgspec.json.Decoder(Asked)
_BODIES: Final = Records(Body, non_finite=True)


def asked(text: str | None) -> Asked:
    """Read a request's body, wrapped or not; one that is no JSON object asks for nothing known."""
    if text is None:
        return Asked()
    try:
        found = _ASKED.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return Asked()
    return found.body or found


def body_in(body: msgspec.Raw) -> Body:
    """Read the body of a request; LineError if a key that is read stands twice in it."""
    data = bytes(body)
    return _BODIES.decode(data) if data.startswith(b"{") else Body()
