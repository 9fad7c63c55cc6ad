"""A headless Chromium, driven through the pipe it offers (Chrome DevTools Protocol)."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
QUIET: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_COMPLAINTS: Final = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}


class Browser:
    """One tab.

    complaints: what its console said since a page was opened. requested: each address asked for.
    """

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = _messages(answers)
        self._number = 0
        self._session: dict[str, str] = {}
        self.complaints: list[Any] = []
        self.requested: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command; what happens in between is noted."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params} | self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        for message in self._answers:
            self._note(message)
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
        raise AssertionError("Chromium ended")

    def _note(self, message: Mapping[str, Any]) -> None:
        if message.get("method") in _COMPLAINTS:
            self.complaints.append(message["params"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])

    def open(self, file: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Show a page, and wait until its charts are drawn."""
        self.complaints.clear()
        self.requested.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # what is clicked stays put
        self.send("Emulation.setEmulatedMedia", features=[scheme, still])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.send("Page.navigate", url=file.as_uri())
        self.until(
            "document.readyState === 'complete' && [...document.querySelectorAll('.chart')]"
            ".every(chart => chart.querySelector('svg'))"
        )

    def value(self, expression: str) -> Any:
        """What an expression gives, promises awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait for a condition of the page to hold, for a minute at most."""
        waiting = (
            "new Promise((done, fail) => { const start = Date.now(); (function look() {"
            f" if ({condition}) done(); else if (Date.now() - start > 60000) fail('never');"
            " else setTimeout(look, 20); })(); })"
        )
        self.value(waiting)

    def click(self, element: str) -> None:
        """A click in the middle of what an expression gives, which is scrolled to."""
        box = self.value(
            f"(found => (found.scrollIntoView({{block: 'center', behavior: 'instant'}}),"
            f" found.getBoundingClientRect().toJSON()))({element})"
        )
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for event in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=event, button="left", clickCount=1, **at)


def _messages(answers: int) -> Iterator[dict[str, Any]]:
    """Messages of the pipe, each ended by a zero byte."""
    rest = b""
    while read := os.read(answers, 1 << 16):
        *whole, rest = (rest + read).split(b"\0")
        yield from map(json.loads, whole)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A Chromium with a profile of its own in `folder`."""
    assert CHROMIUM
    # Chromium takes commands on 3 and answers on 4.
    shell = ["sh", "-c", 'exec "$@" 3<&0 4>&1', "sh", CHROMIUM, *QUIET]
    with subprocess.Popen(
        [*shell, "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield Browser(process.stdin.fileno(), process.stdout.fileno())
        finally:
            process.stdin.write(b'{"id": 0, "method": "Browser.close"}\0')
            process.wait(60)
