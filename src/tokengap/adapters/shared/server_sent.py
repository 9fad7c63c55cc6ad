"""Raw text of server-sent events, as a client stored it, cut into the events it holds."""

from typing import Final

NO_DATA: Final = ""
"""What an event without data is, such as a comment that keeps the connection alive."""


class EventReader:
    """Takes the text piece by piece, however the pieces are cut, and gives back whole events."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, piece: str) -> list[str]:
        """Return the data of every event that this piece completes; `NO_DATA` for one without."""
        text = self._rest + piece
        if "\r" in text:
            text = text.replace("\r\n", "\n")
        *events, self._rest = text.split("\n\n")
        return [_data(event) for event in events if event.strip()]

    def end(self) -> list[str]:
        """Return the data of an event that the end of the text completes."""
        text, self._rest = self._rest, ""
        return [_data(text)] if text.strip() else []


def _data(event: str) -> str:
    if event.startswith("data: ") and "\n" not in event:
        return event[6:]
    lines = (line.removeprefix("data:") for line in event.split("\n") if line.startswith("data:"))
    return "\n".join(line.removeprefix(" ") for line in lines)
