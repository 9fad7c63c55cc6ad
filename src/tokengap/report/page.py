"""An audit as one HTML file that needs nothing else: no network, no other files.

The page's own script and nothing else may run (a Content-Security-Policy names its digest), and
every text of a log is escaped.
"""

import base64
import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

import altair as alt
import duckdb
import jinja2
import vl_convert
from markupsafe import Markup

from tokengap import __version__
from tokengap.findings import Audit
from tokengap.findings.audit import rows
from tokengap.report.banner import banner
from tokengap.report.section import Subject
from tokengap.report.sections import sections
from tokengap.report.words import dates, plain, trace_names
from tokengap.units import format_count

TRACES_SHOWN: Final = 8
_ESCAPES: Final = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(con: duckdb.DuckDBPyConnection, audit: Audit) -> str:
    """The page; the connection must have the query library loaded and bound to the same logs."""
    subject = Subject(con, audit)
    script = _script()
    return _template().render(
        version=__version__,
        traces=trace_names(audit, TRACES_SHOWN),
        streams=format_count(audit.counts["streams"]),
        scope=subject.scope,
        dates=dates(audit) if _on_wall_clocks(con) else None,
        banner=banner(audit),
        sections=sections(subject),
        script=Markup(script),  # noqa: S704 (our own)
        script_digest=_digest(script),
        generated=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
    )


def _on_wall_clocks(con: duckdb.DuckDBPyConnection) -> bool:
    kinds = rows(con, "SELECT DISTINCT clock_kind FROM streams")
    return [row["clock_kind"] for row in kinds] == ["wall"]


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tokengap", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"json": _json, "plain": plain}
    return environment.get_template("page.html.j2")


def _json(value: Any) -> Markup:
    """Strict JSON that cannot end the script element it stands in."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))  # noqa: S704 (escaped for JSON)


@cache
def _script() -> str:
    """Vega, Vega-Lite and Vega-Embed as Altair's version needs them, and the page's own lines."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    own = (files("tokengap") / "report" / "page.js").read_text("utf-8")
    bundle: str = vl_convert.javascript_bundle(own, vl_version=version)
    return bundle.replace("</script", "<\\/script")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
