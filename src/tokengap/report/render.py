"""What only Vega can make: the page's script, and pictures of charts.

It runs in a child process with limits on memory and time, because the JavaScript engine ends its
process when memory runs out. A report is whole without it; whoever asks is told the reason.
"""

import base64
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, Final

import altair as alt

from tokengap.units import format_bytes, format_duration

_RENDERER: Final = Path(__file__).with_name("renderer.py")
_VERSION: Final = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""Of Vega-Lite, as the installed Altair writes it."""
_OUT_OF_MEMORY: Final = re.compile(r"out of memory|memory allocation|heap limit|OOM", re.IGNORECASE)
_REASON_SHOWN: Final = 200  # characters


@dataclass(frozen=True)
class Bounds:
    """What one rendering may take; several charts share the time."""

    memory_bytes: int
    time_s: int


BOUNDS: Final = Bounds(memory_bytes=2 * 2**30, time_s=120)
"""The engine sets aside about 0.7 GiB before it draws; a chart of 5,000 marks needs little more."""


class RenderError(Exception):
    """Nothing was drawn; the message is the reason, for people."""


@dataclass(frozen=True)
class Picture:
    """A chart as files."""

    svg: str
    png: bytes


@cache
def script(own: str, bounds: Bounds) -> str:
    """The page's own lines with Vega, Vega-Lite and Vega-Embed; RenderError says why not."""
    (answer,) = _rendered([{"bundle": own, "version": _VERSION}], bounds)
    if isinstance(answer, RenderError):
        raise answer
    return answer["script"].replace("</script", "<\\/script")


def pictures(
    specs: Sequence[Mapping[str, Any]], style: str, bounds: Bounds
) -> Iterator[Picture | RenderError]:
    """Each chart drawn, in order, or why it was not; what spoils one does not spoil the others.

    style: CSS for the drawings.
    """
    jobs = [{"spec": spec, "style": style, "version": _VERSION} for spec in specs]
    for answer in _rendered(jobs, bounds):
        if isinstance(answer, RenderError):
            yield answer
        else:
            yield Picture(answer["svg"], base64.b64decode(answer["png"]))


def _rendered(
    jobs: Sequence[Mapping[str, Any]], bounds: Bounds
) -> Iterator[dict[str, str] | RenderError]:
    """An answer per job. A job that ends the child is given up, and the next child goes on."""
    left = list(jobs)
    deadline_s = monotonic() + bounds.time_s
    while left:
        answers, reason = _run(left, bounds, max(0.0, deadline_s - monotonic()))
        for answer in answers:
            yield _failed(answer["error"]) if "error" in answer else answer
        left = left[len(answers) :]
        if left:
            yield RenderError(reason)
            left = left[1:]


def _run(
    jobs: Sequence[Mapping[str, Any]], bounds: Bounds, left_s: float
) -> tuple[list[dict[str, str]], str]:
    """What one child answered, and why it answered no more."""
    # -P: what lies beside the renderer is no module of its own.
    command = [sys.executable, "-P", str(_RENDERER), str(bounds.memory_bytes)]
    try:
        done = subprocess.run(  # noqa: S603 (our own file, our own numbers)
            command,
            input=json.dumps(jobs).encode(),
            capture_output=True,
            timeout=left_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return _answers(
            error.stdout or b""
        ), f"the renderer took longer than {_seconds(bounds.time_s)}"
    except OSError as error:
        return [], f"the renderer could not be started ({error.strerror})"
    return _answers(done.stdout), _reason(done.returncode, done.stderr, bounds)


def _answers(out: bytes) -> list[dict[str, str]]:
    """Whole lines: a child that was stopped may have left half a one."""
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith(b"\n")]


def _reason(code: int, said: bytes, bounds: Bounds) -> str:
    text = said.decode("utf-8", "replace")
    if _OUT_OF_MEMORY.search(text):
        return f"the renderer needed more than {format_bytes(bounds.memory_bytes)} of memory"
    if code < 0:
        return f"the renderer was stopped by {signal.Signals(-code).name}"
    last = text.strip().splitlines()[-1:] or [f"exit code {code}"]
    return str(_failed(last[0]))


def _failed(said: str) -> RenderError:
    return RenderError(f"the renderer failed: {said[:_REASON_SHOWN]}")


def _seconds(time_s: int) -> str:
    return format_duration(time_s * 10**9)
