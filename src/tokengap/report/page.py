"""An audit as one HTML file that needs nothing else: no network, no other files.

The page's own script and nothing else may run (a Content-Security-Policy names its digest), and
every text of a log is escaped.
"""

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

import jinja2
from markupsafe import Markup

from tokengap import __version__
from tokengap.report import render
from tokengap.report.whole import Report
from tokengap.report.words import plain

_ESCAPES: Final = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(report: Report) -> str:
    """The report as a page."""
    script, undrawn = _script()
    return template("page.html.j2").render(
        version=__version__,
        report=report,
        script=Markup(script),  # noqa: S704 (our own)
        script_source=_source(script),
        undrawn=undrawn,
        stamp=report.stamp or f"generated {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
    )


def template(name: str) -> jinja2.Template:
    """A template of this package, in which every text is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tokengap", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"json": _json, "plain": plain}
    return environment.get_template(name)


def _json(value: Any) -> Markup:
    """Strict JSON that cannot end the script element it stands in."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))  # noqa: S704 (escaped for JSON)


def _script() -> tuple[str, str | None]:
    """What draws the charts, or nothing and the reason: the tables need no script."""
    own = (files("tokengap") / "report" / "page.js").read_text("utf-8")
    try:
        return render.script(own, render.BOUNDS), None
    except render.RenderError as error:
        return "", str(error)


def _source(script: str) -> str:
    """Which scripts the page lets run: its own."""
    if not script:
        return "'none'"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
