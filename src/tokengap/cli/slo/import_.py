"""`tokengap slo import`: OpenSLO as an SLO file."""

import sys
from datetime import datetime
from pathlib import Path

import click

from tokengap.cli.options import STDOUT, remark
from tokengap.cli.slo.outputs import FILE, writing


@click.command("import")
@FILE
@click.option(
    "--from",
    "start",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="First day of SLOs that say none by an annotation tokengap/from.",
)
@writing
def import_(path: Path, start: datetime | None) -> str:
    """Read OpenSLO v1 YAML, `-` for standard input, and write it as an SLO file.

    What cannot be judged is refused by name; what changes no verdict is left out, and said.
    Needs PyYAML: pip install 'tokengap[openslo]'.
    """
    from tokengap.slo.document import decoded, read_text
    from tokengap.slo.openslo import from_openslo
    from tokengap.slo.plain import to_toml

    text = decoded(sys.stdin.buffer.read(), "-") if path == STDOUT else read_text(path)
    imported = from_openslo(text, str(path), None if start is None else start.date())
    for place in imported.left_out:
        remark(f"left out: {place}")
    return to_toml(imported.file)
