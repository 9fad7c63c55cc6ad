"""The verbs of the command line in Python, and what an audit is in a notebook."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, Self, TypedDict, Unpack
from weakref import finalize

import altair as alt
import duckdb
import polars as pl

from tokengap.errors import QueryError, UsageError
from tokengap.findings import Audit
from tokengap.findings.judging import judge
from tokengap.library import SHARED, Catalogue, read_catalogue
from tokengap.library.call import OBJECTIVES, call, takes_objectives
from tokengap.library.inputs import keep_in_store, opened
from tokengap.report.banner import banner
from tokengap.report.brief import brief
from tokengap.report.chart_files import standalone
from tokengap.report.contract import contract, contract_text
from tokengap.report.files import write_file
from tokengap.report.markdown import markdown
from tokengap.report.page import page
from tokengap.report.resolved import light
from tokengap.report.rows import frame
from tokengap.report.section import Subject
from tokengap.report.whole import Report, compose
from tokengap.slo import Objective, combine, read_slo, stated_limits

AnyPath = str | PathLike[str]
Paths = AnyPath | Iterable[AnyPath]
Limits = Mapping[str, str] | Iterable[Objective]
"""Durations with their unit by statistic, such as `{"tpot": "50ms"}`, or objectives."""

_SEVERAL: Final = {"clock": "clocks", "id_prefix": "id_prefixes", "worker": "workers"}
"""Options that may be given several times, by their name inside."""
_NAMES: Final = {"format": "format_name", "map": "mapping", **_SEVERAL}
"""Options whose name inside is another."""


class Reading(TypedDict, total=False):
    """How files are read: the options of the command line, `-` as `_`."""

    format: str
    trace: str
    map: AnyPath
    strict: bool


class Options(Reading, total=False):
    """How files are read, and what is stated about them."""

    last_prefill_token: int
    vantage: str
    origin: str
    window: str
    window_rule: str
    handoff: str
    clock: str | Sequence[str]
    same_clock: bool
    id_prefix: str | Sequence[str]
    worker: str | Sequence[str]


class AuditResult:
    """An audit of logs: its verdict, its tables as Polars frames, its charts as Altair objects.

    Times are integer nanoseconds, in columns that end in `_ns`. Null means not known, never 0.
    The data stays open for further queries until `close`, the end of a `with` block, or until
    nothing refers to the result any more; then only what was asked for before can be had.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        found: Audit,
        catalogue: Catalogue,
        close: Callable[[], object],
    ) -> None:
        self._con = con
        self._found = found
        self._catalogue = catalogue
        self._end = finalize(self, close)

    def close(self) -> None:
        """Give back memory and temporary files; a second time does nothing."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tokengap audit of {', '.join(self._found.traces)}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        return banner(self._found).says

    @property
    def counts(self) -> dict[str, int | None]:
        """How many requests ended how, and of the offered ones were good.

        Hidden stalls are None without limits on both `tpot` and `worst_gap`; good without any.
        """
        found = self._found
        return found.counts | {
            "good": found.attainment["good"] if found.objectives else None,
            "hidden_stalls": len(found.hidden) if found.judges_stalls else None,
            "possible_stalls": len(found.possible) if found.judges_stalls else None,
        }

    @cached_property
    def requests(self) -> pl.DataFrame:
        """Every latency metric of every stream, with bounds and reasons: one row per stream."""
        return self.query("request_latency")

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """What each request met and missed: one row per request, `good` and `stall` among them."""
        return self.query("request_verdicts")

    @cached_property
    def hidden_stalls(self) -> pl.DataFrame:
        """Requests that are fine on average and stalled, or may be (column `stall`), worst first.

        Empty without limits on both `tpot` and `worst_gap`.
        """
        return self.query("hidden_stalls")

    @cached_property
    def causes(self) -> pl.DataFrame:
        """What made gaps longer than their limit: one row per cause and how it is known."""
        return self.query("cause_summary")

    @cached_property
    def percentiles(self) -> pl.DataFrame:
        """Percentiles of per-request values, as bounds where these are: one row per statistic."""
        return self.query("latency_percentiles")

    @cached_property
    def objectives(self) -> pl.DataFrame:
        """How often each limit was met, with its 95 % interval: one row per limit."""
        return self.query("objective_attainment")

    def query(self, name: str, /, **parameters: object) -> pl.DataFrame:
        """A relation of the query library, over the same data and for the same limits.

        parameters: as on the command line, durations with their unit (`ttft="80ms"`). QueryError
        for a query or parameter that is not there; UsageError once the audit is closed.
        """
        if OBJECTIVES in parameters:
            raise QueryError(
                "an audit answers for its own limits; tokengap.query(name, paths, limits=...) "
                "takes others"
            )
        asked = self._found.objectives if takes_objectives(self._catalogue, name) else ()
        return frame(self._open(), call(self._catalogue, name, _given(parameters), asked))

    @cached_property
    def charts(self) -> dict[str, alt.TopLevelMixin]:
        """Every chart of the report by the name of its section, in light colours on white."""
        colours = light()
        return {
            section.name: alt.Chart.from_dict(standalone(section, colours))
            for section in self._report.sections
            if section.chart
        }

    def html(self) -> str:
        """The report as one page that needs no network and no other file."""
        return page(self._report)

    def markdown(self) -> str:
        """The report as Markdown, without pictures."""
        return markdown(self._report, {}, {})

    def to_dict(self) -> dict[str, Any]:
        """The audit under its contract `tokengap.audit/1`, as `--json` prints it."""
        return contract(self._found)

    def save(self, path: AnyPath) -> None:
        """Write the report as `.html`, `.md` or `.json`; what was there is replaced.

        UsageError for another ending, or if the disk will not have it.
        """
        file = Path(path)
        forms: dict[str, Callable[[], str]] = {
            ".html": self.html,
            ".md": self.markdown,
            ".json": lambda: contract_text(self._found),
        }
        if file.suffix not in forms:
            raise UsageError(f"{file}: the name must end in {', '.join(forms)}")
        write_file(file, forms[file.suffix]())

    def _repr_html_(self) -> str:
        return brief(Subject(self._con, self._found))

    def _open(self) -> duckdb.DuckDBPyConnection:
        if not self._end.alive:
            raise UsageError("this audit is closed: run tokengap.audit(...) again")
        return self._con

    @cached_property
    def _report(self) -> Report:
        return compose(self._open(), self._found)


def audit(
    paths: Paths,
    limits: Limits = (),
    *,
    slo: AnyPath | None = None,
    queries: Iterable[AnyPath] = (),
    **options: Unpack[Options],
) -> AuditResult:
    """Judge logs or stores: who met the limits, who stalled, and where.

    paths: log files, folders of them, or stores. limits: such as `{"tpot": "50ms", "worst_gap":
    "500ms"}`; they replace those of the file `slo`. queries: folders of your own queries. options:
    as on the command line, `-` as `_`: `same_clock=True`, `id_prefix="run=pdf-"`; what can be given
    several times takes a list.

    UsageError and its kinds for what cannot be asked, InputError and its kinds for what cannot be
    read. What is left out is warned of.
    """
    asked = _objectives(limits, slo)
    catalogue = read_catalogue(map(Path, queries)).storing(SHARED)
    with ExitStack() as stack:
        inputs = stack.enter_context(opened(_texts(paths), catalogue, _warn, **_named(options)))
        found = judge(inputs.con, asked)
        return AuditResult(inputs.con, found, catalogue, stack.pop_all().close)


def query(
    name: str,
    paths: Paths,
    parameters: Mapping[str, object] | None = None,
    *,
    limits: Limits = (),
    slo: AnyPath | None = None,
    queries: Iterable[AnyPath] = (),
    **options: Unpack[Options],
) -> pl.DataFrame:
    """One relation of the query library over logs or stores, as a frame.

    parameters: of the query, durations with their unit. The rest, and the errors, as in `audit`;
    QueryError for a query or parameter that is not there.
    """
    catalogue = read_catalogue(map(Path, queries)).storing(SHARED)
    statement = call(catalogue, name, _given(parameters or {}), _objectives(limits, slo))
    with opened(_texts(paths), catalogue, _warn, only=name, **_named(options)) as inputs:
        return frame(inputs.con, statement)


def ingest(paths: Paths, store: AnyPath, **options: Unpack[Reading]) -> pl.DataFrame:
    """Load logs into a store and keep them: what became of each source, one row each.

    A source that is there already changes nothing. Errors as in `audit`; StoreError for a folder
    that is no usable store.
    """
    summary = keep_in_store(_texts(paths), fspath(store), _warn, **_named(options))
    return pl.DataFrame([asdict(outcome) for outcome in summary.outcomes])


def _objectives(limits: Limits, slo: AnyPath | None) -> list[Objective]:
    given = stated_limits(limits) if isinstance(limits, Mapping) else list(limits)
    return combine(read_slo(Path(slo)) if slo else [], given)


def _texts(paths: Paths) -> list[str]:
    several = [paths] if isinstance(paths, str | PathLike) else paths
    return [fspath(path) for path in several]


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options under their names inside; TypeError for one that there is not."""
    if unknown := options.keys() - Options.__annotations__.keys():
        known = ", ".join(Options.__annotations__)
        raise TypeError(f"no option is called {min(unknown)}; there are {known}")
    named = {_NAMES.get(name, name): value for name, value in options.items()}
    for name in named.keys() & _SEVERAL.values():
        named[name] = [named[name]] if isinstance(named[name], str) else list(named[name])
    if named.get("mapping") is not None:
        named["mapping"] = Path(named["mapping"])
    return named


def _given(parameters: Mapping[str, object]) -> list[str]:
    """Parameters of a query as on the command line."""
    return [f"{name}={value}" for name, value in parameters.items()]


def _warn(says: str) -> None:
    warnings.warn(says, stacklevel=2)
