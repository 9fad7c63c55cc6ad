"""The line on which each key of a TOML text stands, which `tomllib` does not say."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

KeyPath = tuple[str | int, ...]
"""Keys from the outermost in, and indices of lists, from 0."""

_TOKEN: Final = re.compile(
    r'''
      (?P<text> """ (?: [^"\\] | \\. | "(?!"") )* "{3,5}
              | \'\'\' (?: [^'] | '(?!\'\') )* '{3,5}
              | " (?: [^"\\\n] | \\. )* "
              | ' [^'\n]* ' )
    | (?P<skip> \#[^\n]* | [ \t\r]+ )
    | (?P<mark> [\n\[\]{},=.] )
    | (?P<word> [^\s"'\#\[\]{},=.]+ )
    ''',
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    """text, mark or word."""
    text: str
    line: int


def key_lines(text: str) -> dict[KeyPath, int]:
    r"""Line, from 1, of every key, table and item of a list. The text must be valid TOML.

    >>> key_lines("[limits]\ntpot = '50ms'")
    {('limits',): 1, ('limits', 'tpot'): 2}
    """
    scanner = _Scanner(list(_tokens(text)))
    scanner.document()
    return scanner.lines


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup not in {None, "skip"}:
            yield _Token(str(match.lastgroup), match[0], line)
        line += match[0].count("\n")


class _Scanner:
    """Goes through the tokens once; `lines` grows on the way."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._tokens = tokens
        self._at = 0
        self._lengths: dict[KeyPath, int] = {}
        """Of each array of tables, how many it has so far."""

    def document(self) -> None:
        table: KeyPath = ()
        while self._at < len(self._tokens):
            if self._takes("["):
                table = self._header()
            elif not self._takes("\n"):
                self._pair(table)

    def _header(self) -> KeyPath:
        line = self._tokens[self._at].line
        is_item = self._takes("[")
        *outer, last = self._key("]")
        path = self._inside(outer)
        self._takes("]")
        path = (*path, last)
        self.lines.setdefault(path, line)
        if is_item:
            self._lengths[path] = self._lengths.get(path, 0) + 1
            path = (*path, self._lengths[path] - 1)
            self.lines[path] = line
        return path

    def _inside(self, keys: list[str]) -> KeyPath:
        """Path of the table that a header's outer keys mean: the last one of an array."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._tokens[self._at].line
        path = table
        for key in self._key("="):
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._value(path)

    def _key(self, end: str) -> list[str]:
        """The parts of a dotted key, up to and with the mark `end`."""
        parts = []
        while not self._takes(end):
            token = self._next()
            if token.kind != "mark":
                parts.append(_unquoted(token))
        return parts

    def _value(self, path: KeyPath) -> None:
        if self._takes("["):
            self._items(path)
        elif self._takes("{"):
            while not self._takes("}"):
                if not self._takes(",") and not self._takes("\n"):
                    self._pair(path)
        else:
            while self._at < len(self._tokens) and not self._is_end(self._tokens[self._at]):
                self._at += 1

    def _items(self, path: KeyPath) -> None:
        index = 0
        while not self._takes("]"):
            if self._takes(","):
                index += 1
            elif not self._takes("\n"):
                self.lines[(*path, index)] = self._tokens[self._at].line
                self._value((*path, index))

    @staticmethod
    def _is_end(token: _Token) -> bool:
        """A scalar is one word or more: a date and a time, a number with its point."""
        return token.kind == "mark" and token.text != "."

    def _takes(self, mark: str) -> bool:
        """Step over the mark if it comes next."""
        if self._at == len(self._tokens):
            return False
        token = self._tokens[self._at]
        found = token.kind == "mark" and token.text == mark
        self._at += found
        return found

    def _next(self) -> _Token:
        self._at += 1
        return self._tokens[self._at - 1]


def _unquoted(token: _Token) -> str:
    """A key without its quotes and escapes."""
    if token.kind == "word":
        return token.text
    return next(iter(tomllib.loads(f"{token.text} = 0")))
