"""Raw text of server-sent events, as a client stored it, cut into the events it holds."""

from typing import Final

NO_DATA: Final = ""
"""What an event without data is, such as a comment that keeps the connection alive."""

_FIELD: Final = "data: "
_END: Final = "\n\n"


class EventReader:
    """Takes the text piece by piece, however the pieces are cut, and gives back whole events."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> list[str]:
        """Return the data of every event that this piece completes; `NO_DATA` for one without."""
        if not self._rest and _is_one_line(piece):
            return [piece[len(_FIELD) : -len(_END)]]
        text = self._rest + piece
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        *events, self._rest = text.split("\n\n")
        return [_data(event) for event in events if event.strip()]

    def end(self) -> list[str]:
        """Return the data of an event that the end of the text completes."""
        text, self._rest = self._rest, ""
        return [_data(text)] if text.strip() else []


def _is_one_line(piece: str) -> bool:
    """Whether it is one whole event of one line, as most pieces are."""
    return (
        piece.startswith(_FIELD)
        and piece.find("\n") == len(piece) - len(_END)
        and piece.endswith(_END)
        and "\r" not in piece
    )


def _data(event: str) -> str:
    if event.startswith(_FIELD) and "\n" not in event:
        return event[len(_FIELD) :]
    lines = (line.removeprefix("data:") for line in event.split("\n") if line.startswith("data:"))
    return "\n".join(line.removeprefix(" ") for line in lines)
