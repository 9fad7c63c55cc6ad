"""OpenSLO v1 objects as what a file promises; what cannot be is refused by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, cast

from tokengap.errors import UsageError
from tokengap.slo.document import Document, did_you_mean
from tokengap.slo.lines import KeyPath
from tokengap.slo.model import SloFile
from tokengap.slo.openslo.indicators import measured, objective, refuse, target
from tokengap.slo.openslo.terms import API, FROM, JUDGED, OCCURRENCES, TOOL, UNTIL
from tokengap.slo.openslo.windows import window
from tokengap.slo.openslo.yaml_text import parse_yaml
from tokengap.slo.services import services_of
from tokengap.slo.table import Table

_OBJECT: Final = ("apiVersion", "kind", "metadata", "spec")
_METADATA: Final = ("name", "displayName", "labels", "annotations")
_KEPT: Final = ("DataSource", "Service", "SLI", "SLO")
_REFUSED: Final = ("AlertPolicy", "AlertCondition", "AlertNotificationTarget")
_SLO: Final = (
    "description", "service", "indicator", "indicatorRef", "timeWindow", "budgetingMethod",
    "objectives", "alertPolicies",
)  # fmt: skip
_INDICATOR: Final = ("description", "thresholdMetric", "ratioMetric")


@dataclass(frozen=True)
class Imported:
    """What OpenSLO objects promise."""

    file: SloFile
    left_out: Sequence[str]
    """What was said and changes no verdict, such as labels, each with its place."""


def from_openslo(text: str, name: str, start: date | None = None) -> Imported:
    """Read YAML of OpenSLO v1.

    start: first day of SLOs that name none. UsageError for what is wrong or cannot be kept, with
    the line; or without PyYAML.
    """
    reading = _Reading(name, start)
    objects = [_Object(document) for document in parse_yaml(text, name)]
    _check_names(objects)
    for kind in _KEPT:
        for found in objects:
            if found.kind == kind:
                reading.take(found)
    return Imported(services_of(reading.document()), reading.left_out)


class _Object:
    """One document: its kind, name and spec."""

    def __init__(self, document: Document) -> None:
        self.document = document
        table = Table(document, (), _OBJECT)
        if table.needed(table.text, "apiVersion", API) != API:
            table.fail("apiVersion", f"only {API} is read")
        self.kind = table.needed(table.text, "kind", "SLO")
        if self.kind in _REFUSED:
            table.fail("kind", f"has no counterpart in {TOOL}; leave it out")
        if self.kind not in _KEPT:
            table.fail("kind", f"no such kind{did_you_mean(self.kind, _KEPT)}")
        self.metadata = table.inner("metadata", _METADATA)
        self.name = self.metadata.needed(self.metadata.text, "name", "chat-ttft")
        self.annotations: dict[str, Any] = self.metadata.data.get("annotations") or {}
        if not isinstance(self.annotations, dict):
            self.metadata.fail("annotations", "expected a table")

    def place_of(self, annotation: str) -> str:
        place = self.document.place(("metadata", "annotations", annotation))
        return f"{place}: metadata.annotations.{annotation}"

    def spec(self, known: Sequence[str]) -> Table:
        return Table(self.document, ("spec",), known)


def _check_names(objects: Sequence[_Object]) -> None:
    seen = set()
    for found in objects:
        if (found.kind, found.name) in seen:
            found.metadata.fail("name", f"a second {found.kind} of this name; keep one")
        seen.add((found.kind, found.name))


class _Reading:
    """Collects the tables of an `slo.toml`, with the lines that they come from."""

    def __init__(self, name: str, start: date | None) -> None:
        self.left_out: list[str] = []
        self._name, self._start = name, start
        self._services: dict[str, dict[str, Any]] = {}
        self._first: dict[str, str] = {}
        """Of each service, the SLO that said first how it is judged."""
        self._data: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._indicators: dict[str, _Object] = {}
        self._lines: dict[KeyPath, int] = {}

    def document(self) -> Document:
        """All that was taken."""
        return Document(
            self._name, {"service": list(self._services.values()), **self._data}, self._lines
        )

    def take(self, found: _Object) -> None:
        """Add one object; kinds that others refer to come first."""
        self._leave_out(found.metadata, ("displayName", "labels"))
        for key in found.annotations:
            if key not in {FROM, UNTIL}:
                self.left_out.append(found.place_of(key))
        match found.kind:
            case "DataSource":
                self._take_source(found)
            case "Service":
                said = found.spec(("description",)).data
                self._service(found.name, found.document).update(said)
            case "SLI":
                self._indicators[found.name] = found
            case _:
                self._take_slo(found)

    def _take_source(self, found: _Object) -> None:
        spec = found.spec(("description", "type", "connectionDetails"))
        self._sources[found.name] = spec.needed(spec.text, "type", TOOL)
        if self._sources[found.name] != TOOL:
            spec.fail("type", f"only what {TOOL} measures can be judged here")
        if not spec.data.get("connectionDetails"):
            return
        details = spec.inner("connectionDetails", ("deployments", "exclusions"))
        for key, items in details.data.items():
            if key[:-1] in self._data:
                details.fail(key, "an earlier DataSource has them too; keep one", value=False)
            self._data[key[:-1]] = items
            self._keep_lines((*details.path, key), (key[:-1],), found.document)

    def _service(self, name: str, document: Document) -> dict[str, Any]:
        """The tables of a service, made where it is first named."""
        if name not in self._services:
            self._lines["service", len(self._services)] = document.lines[()]
            self._services[name] = {"name": name, "objective": []}
        return self._services[name]

    def _take_slo(self, found: _Object) -> None:
        spec = found.spec(_SLO)
        refuse(spec, ("alertPolicies",), f"alerts have no counterpart in {TOOL}; leave them out")
        self._leave_out(spec, ("description",))
        if spec.needed(spec.text, "budgetingMethod", OCCURRENCES) != OCCURRENCES:
            spec.fail("budgetingMethod", f"requests are counted: only {OCCURRENCES} is known")
        goal = objective(spec)
        self._leave_out(goal, ("displayName",))
        said = measured(self._indicator(spec), goal, self._sources)
        judged = {key: said.pop(key) for key in JUDGED if key in said} | {"window": window(spec)}
        service = self._service(spec.needed(spec.text, "service", "chat"), found.document)
        self._agree(found, service, judged)
        index = list(self._services).index(service["name"])
        path = ("service", index, "objective", len(service["objective"]))
        service["objective"].append(said | {"target": target(goal)} | self._days(found))
        self._lines[path] = found.document.lines[()]
        self._keep_lines(goal.path, path, found.document)

    def _indicator(self, spec: Table) -> Table:
        name = spec.text("indicatorRef")
        if name is None:
            indicator = spec.inner("indicator", ("metadata", "spec"))
            return indicator.inner("spec", _INDICATOR)
        refuse(spec, ("indicator",), "stands beside indicatorRef; keep one")
        if name not in self._indicators:
            spec.fail("indicatorRef", f"no SLI is called so{did_you_mean(name, self._indicators)}")
        return self._indicators[name].spec(_INDICATOR)

    def _agree(self, found: _Object, service: dict[str, Any], judged: dict[str, Any]) -> None:
        """All SLOs of a service are about the same requests, judged in the same way."""
        first = self._first.setdefault(service["name"], found.name)
        if first == found.name:
            service.update(judged)
        for key in (*JUDGED, "window"):
            if service.get(key) != judged.get(key):
                raise UsageError(
                    f"{found.document.place(())}: SLO {found.name}: its {key} is "
                    f"{judged.get(key)}, and that of {first} {service.get(key)}; SLOs of one "
                    "service share it: write two services"
                )

    def _days(self, found: _Object) -> dict[str, date]:
        days: dict[str, date] = {}
        for key, annotation in (("from", FROM), ("until", UNTIL)):
            if annotation in found.annotations:
                days[key] = self._day(found, annotation)
        if "from" not in days:
            if self._start is None:
                raise UsageError(
                    f"{found.document.place(())}: SLO {found.name} says not from which day on it "
                    f'holds; annotate it with {FROM}: "2026-01-31", or give --from'
                )
            days["from"] = self._start
        return days

    @staticmethod
    def _day(found: _Object, annotation: str) -> date:
        text = str(found.annotations[annotation])
        try:
            return date.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                f"{found.place_of(annotation)} = {text}: expected a date such as 2026-01-31"
            ) from error

    def _leave_out(self, table: Table, keys: Sequence[str]) -> None:
        self.left_out += [table.place(key) for key in keys if key in table.data]

    def _keep_lines(self, source: KeyPath, kept: KeyPath, document: Document) -> None:
        """What was found at or below `source` is to be told of as `kept`."""
        for path, line in document.lines.items():
            if path[: len(source)] == source:
                self._lines[cast("KeyPath", (*kept, *path[len(source) :]))] = line
