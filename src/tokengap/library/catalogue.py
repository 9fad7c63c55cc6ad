"""All query files together: found, read, checked against each other, and put in order."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from pathlib import Path
from typing import Final

from tokengap.errors import QueryError
from tokengap.library.query import Query, parse

ROOTS: Final = (
    "stored_streams", "all_streams", "clocks", "clock_offsets", "rejects",
    "service_members", "service_limits", "worst_gap_causes",
)  # fmt: skip
"""Relations that a connection has before the library is loaded."""
SHARED: Final = ("request_latency", "_last_attempts", "_stream_places", "prefills")
"""What most relations read: worth computing once where several of them are asked for."""


@dataclass(frozen=True)
class Catalogue:
    """The library's relations by name, in dependency order."""

    queries: dict[str, Query]
    mounted: tuple[str, ...] = ()
    """Names that come from users' own folders."""

    def __getitem__(self, name: str) -> Query:
        """The relation called `name`; QueryError suggests the nearest."""
        if name in self.queries:
            return self.queries[name]
        near = get_close_matches(name, self.public, 1)
        hint = f"did you mean {near[0]}?" if near else "see `tokengap sql --list`"
        raise QueryError(f"no query is called {name}; {hint}")

    @property
    def public(self) -> list[str]:
        """Names of the relations meant for users."""
        return [name for name, query in self.queries.items() if not query.is_private]

    def storing(self, names: Iterable[str]) -> "Catalogue":
        """The same library, with these views computed once instead of whenever they are read."""
        return replace(self, queries=self.queries | {name: self[name].stored() for name in names})

    def only(self, *names: str) -> "Catalogue":
        """The library of these relations and what they need."""
        return replace(self, queries={query.name: query for query in self.closure(*names)})

    def without(self, *folders: str) -> "Catalogue":
        """The library without what these of its folders define, unless others need it."""
        kept = (
            name
            for name, query in self.queries.items()
            if name in self.mounted or query.path.parent.name not in folders
        )
        return self.only(*kept)

    def closure(self, *names: str) -> list[Query]:
        """The relations and everything they need, in dependency order."""
        needed, wanted = set(), [name for name in names if name not in ROOTS]
        while wanted:
            query = self[wanted.pop()]
            needed.add(query.name)
            wanted.extend(r for r in query.requires if r not in ROOTS and r not in needed)
        return [query for query in self.queries.values() if query.name in needed]


def shipped() -> Path:
    """The `queries/` folder: inside the installed package, else beside a checkout's `src/`."""
    installed = Path(str(files("tokengap"))) / "queries"
    checkout = Path(__file__).parents[3] / "queries"
    for folder in (installed, checkout):
        if folder.is_dir():
            return folder
    raise QueryError(
        f"the query library is neither at {installed} nor at {checkout}: reinstall tokengap"
    )


def read_catalogue(extra: Iterable[Path] = ()) -> Catalogue:
    """The shipped library, with the users' own folders mounted under the same rules."""
    queries: dict[str, Query] = {}
    for folder in (shipped(), *extra):
        if not folder.is_dir():
            raise QueryError(f"{folder}: no such folder of queries")
        for path in sorted(folder.rglob("*.sql")):
            query = parse(path)
            if query.name in queries or query.name in ROOTS:
                first = queries[query.name].path if query.name in queries else "the store"
                raise QueryError(f"{path}: {query.name} is already defined by {first}; rename it")
            queries[query.name] = query
    _check_requires(queries)
    own = shipped()
    return Catalogue(
        {name: queries[name] for name in _order(queries)},
        tuple(name for name, query in queries.items() if not query.path.is_relative_to(own)),
    )


def _check_requires(queries: dict[str, Query]) -> None:
    names = frozenset((*queries, *ROOTS))
    for query in queries.values():
        for name in query.requires:
            if name not in names:
                raise QueryError(f"{query.path}: requires {name}, which no file defines")
            if name not in query.used:
                raise QueryError(f"{query.path}: requires {name} but does not use it")
        if silent := query.used & names - {query.name, *query.requires}:
            raise QueryError(f"{query.path}: uses {min(silent)} but does not require it")


def _order(queries: dict[str, Query]) -> list[str]:
    graph = {name: [r for r in query.requires if r not in ROOTS] for name, query in queries.items()}
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise QueryError(f"queries require each other in a circle: {error.args[1]}") from error
