"""What can be declared where there are few possibilities; the first of each is the outermost."""

from typing import Final

CHOICES: Final = {
    "vantage": ("client", "gateway", "engine"),
    "origin": ("planned", "sent", "received", "arrival"),
    "window_rule": ("by_start", "by_event"),
    "handoff": ("stream", "ttft", "engine", "relay", "transfer", "decode_wait", "gateway"),
}
