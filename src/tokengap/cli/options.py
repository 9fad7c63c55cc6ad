"""Options that commands share, and what they mean together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from tokengap.choices import CHOICES

STDOUT: Final = Path("-")
PATHS: Final = click.argument("paths", metavar="PATH...", nargs=-1, required=True)

_READING: Final = (
    click.option("--format", "format_name", metavar="NAME", help="Log format; see `formats`."),
    click.option("--trace", metavar="NAME", help="Name of the run, instead of the file's."),
    click.option(
        "--map",
        "mapping",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="What the columns of a table mean, for --format table.",
    ),
    click.option("--strict", is_flag=True, help="Exit 3 if anything limits the trust in the data."),
)
_DECLARING: Final = (
    click.option(
        "--last-prefill-token",
        type=click.IntRange(min=0),
        metavar="K",
        help="Last token the prefill side delivers: 0 none, 1 the first. The log wins.",
    ),
    click.option(
        "--vantage",
        type=click.Choice(CHOICES["vantage"]),
        help="View to judge, and where stamps were taken if the log does not say.",
    ),
    click.option(
        "--origin",
        type=click.Choice(CHOICES["origin"]),
        help="Stamp that times count from, instead of the vantage's own.",
    ),
    click.option(
        "--window",
        metavar="START..END",
        help="Judge only this span of the log's clock, such as 10s..20s.",
    ),
    click.option(
        "--window-rule",
        type=click.Choice(CHOICES["window_rule"]),
        default="by_start",
        show_default=True,
        help="A request belongs to the window of its start, or everything to that of its end.",
    ),
    click.option(
        "--handoff",
        type=click.Choice(CHOICES["handoff"]),
        default="stream",
        show_default=True,
        help="Boundary that a limit on handoff_gap is about.",
    ),
    click.option(
        "--clock",
        "clocks",
        multiple=True,
        metavar="ID=OFFSET[±SPREAD]",
        help="How far a clock runs ahead, such as server=+12.5ms±0.2ms; repeatable.",
    ),
    click.option(
        "--same-clock", is_flag=True, help="All files were stamped on one host, by its clocks."
    ),
    click.option(
        "--id-prefix",
        "id_prefixes",
        multiple=True,
        metavar="[TRACE=]PREFIX",
        help="Prefix of the request ids that a client sent and did not save; repeatable.",
    ),
    click.option(
        "--worker",
        "workers",
        multiple=True,
        metavar="[TRACE=]NAME",
        help="Worker that served what names none in its log; repeatable.",
    ),
)
_JUDGING: Final = (
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="STATISTIC=DURATION",
        help="Limit, such as tpot=50ms; repeatable.",
    ),
    click.option(
        "--slo",
        type=click.Path(path_type=Path),
        metavar="FILE.toml",
        help="Limits from a file; --limit replaces the same statistic.",
    ),
)
_LIBRARY: Final = (
    click.option(
        "--queries",
        "query_dirs",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Mount your own folder of queries; repeatable.",
    ),
)

Command = Callable[..., Any]
Option = Callable[[Command], Command]
"""Adds one option to a command, or several."""


def reading(command: Command) -> Command:
    """Options on how files are read."""
    return _add(command, _READING)


def declaring(command: Command) -> Command:
    """Options on what the user states about the logs."""
    return _add(command, _DECLARING)


def judging(command: Command) -> Command:
    """Options on limits."""
    return _add(command, _JUDGING)


def mounting(command: Command) -> Command:
    """Options on the query library."""
    return _add(command, _LIBRARY)


def gathering(
    kind: Callable[..., Any], name: str, fields: Iterable[str], options: Sequence[Option]
) -> Option:
    """Options that a command gets together, as its argument `name`: a `kind` of these fields."""
    gathered = tuple(fields)

    def decorated(command: Command) -> Command:
        @wraps(command)
        def collected(**given: Any) -> Any:
            said = {field: given.pop(field) for field in gathered}
            return command(**given, **{name: kind(**said)})

        return _add(collected, options)

    return decorated


def _add(command: Command, options: Sequence[Option]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def remark(says: str) -> None:
    """Talk to the user, beside the data on standard output."""
    click.echo(says, err=True)


def check_files(files: Mapping[str, Path], *, as_json: bool, force: bool) -> None:
    """UsageError, before any work is done, if some of these files could not be written.

    files: by option. as_json: the answer is printed as JSON.
    """
    from tokengap.errors import UsageError

    printed = [f"--{name} -" for name, path in files.items() if path == STDOUT]
    printed += ["--json"] if as_json else []
    if len(printed) > 1:
        raise UsageError(f"only one of {' and '.join(printed)} can go to standard output")
    paths = [path for path in files.values() if path != STDOUT]
    if len(set(paths)) < len(paths):
        raise UsageError("two outputs would be written to the same file")
    for path in paths:
        check_output(path, force=force)


def check_output(path: Path, *, force: bool) -> None:
    """UsageError, before any work is done, if the file could not be written; `-` always can."""
    from tokengap.errors import UsageError

    if path == STDOUT:
        return
    if path.exists() and not force:
        raise UsageError(f"{path} exists; --force overwrites it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist")


def write_output(path: Path, content: str | bytes) -> None:
    """Write the file, or standard output for `-`; UsageError if the disk will not have it."""
    from tokengap.report.files import write_file

    if path == STDOUT:
        click.echo(content, nl=False)
        return
    write_file(path, content)
