"""A document of nested tables, and the place of each key in it for messages."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tokengap.errors import UsageError
from tokengap.slo.lines import KeyPath, key_lines


@dataclass(frozen=True)
class Document:
    """What a file says, as tables, lists and values; fractions are exact Decimals."""

    name: str
    """The file, as the user named it."""
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int]
    """Line, from 1, of each key and each item of a list; the nearest outer one stands in."""

    def place(self, path: KeyPath) -> str:
        """`file:line`; the file alone for what is nowhere in it."""
        known = (path[:size] for size in range(len(path), -1, -1) if path[:size] in self.lines)
        nearest = next(known, None)
        return self.name if nearest is None else f"{self.name}:{self.lines[nearest]}"


def read_toml(path: Path) -> Document:
    """The document of a TOML file. UsageError if it cannot be read, or is no TOML."""
    return parse_toml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark. UsageError if it cannot be read."""
    try:
        return decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: cannot read the SLO file: {error.strerror}") from error


def decoded(content: bytes, name: str) -> str:
    """The content as text, without a byte order mark. UsageError if it is no UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: not UTF-8 text at byte {error.start}; save it as UTF-8"
        ) from error


def parse_toml(text: str, name: str) -> Document:
    """The document of TOML text. UsageError if it is none; `name` starts the message."""
    try:
        return Document(name, tomllib.loads(text, parse_float=Decimal), key_lines(text))
    except (ValueError, ArithmeticError, RecursionError) as error:  # also numbers beyond all use
        raise UsageError(f"{name}: not TOML: {error}; durations stand in quotes") from error


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint to put behind a word that is not known; empty if nothing comes close."""
    close = difflib.get_close_matches(word.lower(), known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
