"""Forms in which the answer of a command is printed or written."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from tokengap.cli.options import STDOUT, Command, check_files, write_output
from tokengap.errors import InputError

FORMS: Final = ("html", "png", "csv")
_SAYS: Final = {
    "html": "Write a page with the chart; `-` prints it instead of the text.",
    "png": "Write the chart.",
    "csv": "Write the rows behind the chart.",
}


def writing(command: Command) -> Command:
    """Options on what is written, which the command gets together as `outputs`."""

    @wraps(command)
    def collected(**options: Any) -> Any:
        named = {name: options.pop(name) for name in FORMS}
        outputs = {name: path for name, path in named.items() if path is not None}
        check_files(outputs, as_json=options["as_json"], force=options.pop("force"))
        return command(**options, outputs=outputs)

    made: Command = collected
    made = click.option("--force", is_flag=True, help="Overwrite what exists.")(made)
    for name in reversed(FORMS):
        path = click.Path(path_type=Path)
        made = click.option(f"--{name}", type=path, metavar="FILE", help=_SAYS[name])(made)
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(made)


def show(
    document: Any, report: Callable[[], Any], outputs: Mapping[str, Path], *, as_json: bool
) -> None:
    """Print the text or JSON, unless a form takes standard output, and write each form asked for.

    document: a `Document`. report: makes its page; called only if a form needs it.
    """
    from tokengap.report.document import as_json as in_json

    if STDOUT not in outputs.values():
        click.echo(in_json(document) if as_json else document.text, nl=False)
    if outputs:
        _write(report(), outputs)


def _write(report: Any, outputs: Mapping[str, Path]) -> None:
    from tokengap.report.forms import as_csv, as_html, as_png
    from tokengap.report.render import RenderError

    for name, path in outputs.items():
        if name == "png":
            try:
                write_output(path, as_png(report))
            except RenderError as error:
                raise InputError(f"{path}: not drawn: {error}") from error
        else:
            write_output(path, as_html(report) if name == "html" else as_csv(report))
