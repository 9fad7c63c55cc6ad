"""YAML documents as exact values with their lines, and back."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib import import_module
from types import ModuleType
from typing import Any

from tokengap.errors import UsageError
from tokengap.slo.document import Document
from tokengap.slo.lines import KeyPath
from tokengap.slo.openslo.terms import EXTRA

_FLOAT = "tag:yaml.org,2002:float"


def parse_yaml(text: str, name: str) -> list[Document]:
    """The documents of a text, fractions as Decimals; an empty one is left out.

    UsageError if it is no YAML or gives a key twice; `name` starts the message.
    """
    yaml = _library()

    class Exact(yaml.SafeLoader):  # type: ignore[misc,name-defined] # a module that may be missing
        """Keeps the digits of fractions."""

    Exact.add_constructor(_FLOAT, lambda loader, node: _exact(loader.construct_scalar(node)))
    try:
        loader = Exact(text)
        loader.name = name
        documents = []
        while loader.check_node():
            node = loader.get_node()
            data = loader.construct_document(node)
            documents.append(Document(name, data, dict(_lines(yaml, node, (), name))))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not YAML: {' '.join(str(error).split())}") from error
    return [document for document in documents if document.data is not None]


def dump_yaml(documents: Iterable[dict[str, Any]]) -> str:
    """The documents as text, keys in their order."""
    yaml = _library()

    class Exact(yaml.SafeDumper):  # type: ignore[misc,name-defined] # a module that may be missing
        """Writes Decimals as they are, and every list and table in full."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (the library's signature)
            """Nothing stands for another."""
            return True

    Exact.add_representer(
        Decimal, lambda dumper, value: dumper.represent_scalar(_FLOAT, _digits(value))
    )
    text: str = yaml.dump_all(
        documents, Dumper=Exact, sort_keys=False, allow_unicode=True, explicit_start=True
    )
    return text


def _exact(text: str) -> Decimal:
    """The number as it is written; `.inf` and `.nan` are YAML's."""
    try:
        return Decimal(re.sub(r"\.(?=inf|nan)", "", text.lower()))
    except ArithmeticError as error:
        raise ValueError(f"{text} is no decimal number") from error


def _digits(value: Decimal) -> str:
    """With a point, without which YAML reads a whole number."""
    text = f"{value:f}"
    return text if "." in text else f"{text}.0"


def _lines(yaml: ModuleType, node: Any, path: KeyPath, name: str) -> Iterator[tuple[KeyPath, int]]:
    """Line, from 1, of each key and item below the node, and of the node itself."""
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(yaml, item, (*path, index), name)
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                raise UsageError(f"{name}:{line}: {key.value} is given twice; keep one")
            seen.add(key.value)
            yield from _lines(yaml, value, (*path, key.value), name)
            yield (*path, key.value), line


def _library() -> ModuleType:
    try:
        return import_module("yaml")
    except ImportError as error:
        raise UsageError(
            f"OpenSLO is YAML, and PyYAML is not installed: pip install '{EXTRA}'"
        ) from error
