"""Files that a report is written to beside its summary, or instead of it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from tokengap.cli.options import (
    STDOUT,
    Command,
    Option,
    check_files,
    check_output,
    gathering,
    write_output,
)

_FILES: Final = {
    "html": "Write a page with charts; `-` prints it instead of the summary.",
    "md": "Write the report as Markdown; with --charts it shows their pictures.",
    "perfetto": "Write a trace for ui.perfetto.dev: the worst requests and all beside them.",
}
_FOLDERS: Final = {
    "charts": "Write every chart as PNG, SVG and Vega-Lite JSON.",
    "csv": "Write the rows behind every chart and table.",
}


@dataclass(frozen=True)
class Outputs:
    """Where to write each form of the report; None for those not asked for."""

    html: Path | None = None
    md: Path | None = None
    perfetto: Path | None = None
    charts: Path | None = None
    csv: Path | None = None
    force: bool = False

    @property
    def files(self) -> dict[str, Path]:
        """The files asked for, by option."""
        return _given(self, _FILES)

    @property
    def folders(self) -> dict[str, Path]:
        """The folders asked for, by option."""
        return _given(self, _FOLDERS)

    @property
    def asked(self) -> bool:
        """Anything is to be written."""
        return bool(self.files or self.folders)

    @property
    def takes_stdout(self) -> bool:
        """Something is printed instead of the summary."""
        return STDOUT in self.files.values()


def writing(command: Command) -> Command:
    """Options on files to write, which the command gets together as `outputs`."""
    return _collecting(command, (*_FILES, *_FOLDERS))


def reporting(command: Command) -> Command:
    """As `writing`, without what only an audit can write."""
    return _collecting(command, [name for name in (*_FILES, *_FOLDERS) if name != "perfetto"])


def _collecting(command: Command, names: Collection[str]) -> Command:
    return gathering(Outputs, "outputs", (*names, "force"), [*_options(names)])(command)


def _options(names: Collection[str]) -> Iterator[Option]:
    path = click.Path(path_type=Path)
    for says, metavar in ((_FILES, "FILE"), (_FOLDERS, "DIR")):
        for name in (name for name in says if name in names):
            yield click.option(f"--{name}", type=path, metavar=metavar, help=says[name])
    yield click.option("--force", is_flag=True, help="Overwrite what exists.")


def _given(outputs: Outputs, names: Mapping[str, str]) -> dict[str, Path]:
    paths = {name: getattr(outputs, name) for name in names}
    return {name: path for name, path in paths.items() if path is not None}


def check_outputs(
    outputs: Outputs, *, as_json: bool, more: Mapping[str, Path] | None = None
) -> None:
    """UsageError, before any work is done, if something could not be written.

    more: files that only this command writes, by option.
    """
    check_files({**outputs.files, **(more or {})}, as_json=as_json, force=outputs.force)
    for path in outputs.folders.values():
        _check_folder(path, force=outputs.force)


def _check_folder(path: Path, *, force: bool) -> None:
    from tokengap.errors import UsageError

    if path == STDOUT:
        raise UsageError("`-`: a folder is expected, for there are several files")
    if not path.exists():
        check_output(path, force=force)
    elif not path.is_dir():
        raise UsageError(f"{path} is no folder")
    elif not force and any(path.iterdir()):
        raise UsageError(f"{path} holds files; --force overwrites those of the same names")


def write_outputs(outputs: Outputs, con: Any, found: Any) -> None:
    """Write everything asked for of an audit."""
    if outputs.perfetto is not None:
        _write_perfetto(outputs.perfetto, con, found)
    if not {**outputs.files, **outputs.folders}.keys() - {"perfetto"}:
        return
    from tokengap.report.whole import compose

    write_report(outputs, compose(con, found))


def write_report(outputs: Outputs, report: Any) -> None:
    """Write the report in each form asked for; a chart that fails is said, and spoils no other."""
    if outputs.csv is not None:
        _write_csv(outputs.csv, report)
    drawn = {} if outputs.charts is None else _write_charts(outputs.charts, report)
    if outputs.html is not None:
        from tokengap.report.page import page

        write_output(outputs.html, page(report))
    if outputs.md is not None:
        from tokengap.report.markdown import markdown

        write_output(outputs.md, markdown(report, *_pictures(outputs, drawn)))


def _write_perfetto(path: Path, con: Any, found: Any) -> None:
    from tokengap.report.perfetto import perfetto
    from tokengap.report.section import Subject
    from tokengap.report.timeline import timeline

    made = timeline(Subject(con, found))
    write_output(path, perfetto(made))
    for line in made.says:
        click.echo(f"{path}: {line}", err=True)


def _write_csv(folder: Path, report: Any) -> None:
    from tokengap.report.csv_files import csv_files

    for name, text in csv_files(report):
        write_output(_in(folder, f"{name}.csv"), text)


def _write_charts(folder: Path, report: Any) -> dict[str, str | None]:
    """Write what can be drawn; why each chart has no picture, None if it has one."""
    from tokengap.report.chart_files import chart_files
    from tokengap.report.render import RenderError

    reasons: dict[str, str | None] = {}
    for chart in chart_files(report):
        write_output(_in(folder, f"{chart.name}.vl.json"), chart.specification)
        if isinstance(chart.picture, RenderError):
            reasons[chart.name] = str(chart.picture)
            click.echo(f"not drawn: {folder / chart.name}: {chart.picture}", err=True)
        else:
            reasons[chart.name] = None
            write_output(_in(folder, f"{chart.name}.svg"), chart.picture.svg)
            write_output(_in(folder, f"{chart.name}.png"), chart.picture.png)
    return reasons


def _in(folder: Path, name: str) -> Path:
    from tokengap.errors import UsageError

    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror})") from error
    return folder / name


def _pictures(
    outputs: Outputs, reasons: Mapping[str, str | None]
) -> tuple[dict[str, str], dict[str, str]]:
    """Addresses of the pictures as seen from the Markdown file, and reasons where there is none."""
    if outputs.charts is None or outputs.md is None:
        return {}, {}
    beside = outputs.md.parent if outputs.md != STDOUT else Path()
    folder = quote(Path(relpath(outputs.charts, beside)).as_posix())
    made = {name: f"{folder}/{name}.png" for name, reason in reasons.items() if reason is None}
    return made, {name: reason for name, reason in reasons.items() if reason is not None}
