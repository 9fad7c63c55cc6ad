"""Errors a user can cause, and the exit code each one ends the command with.

TokengapError
|- UsageError               2  the command line or an SLO file says something impossible
|  |- UnitError             2  a quantity without a unit, or with an unknown one
|  `- QueryError            2  a query file breaks the library's contract, or is called wrongly
`- InputError               3  a file cannot be used
   |- UnknownFormatError    3  no adapter recognises it, or several do
   |- KeyCollisionError     3  two sources hold the same stream
   `- StoreError            3  a store is damaged, or changed while it was written
"""

EXIT_DONE = 0
EXIT_CONDITION = 1
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_INTERRUPTED = 130


class TokengapError(Exception):
    """Base of every error whose message is meant for the user.

    The message says what is wrong, where, what was expected and what to do.
    """

    exit_code = EXIT_INPUT


class UsageError(TokengapError):
    """The request itself cannot be met, whatever the input holds."""

    exit_code = EXIT_USAGE


class UnitError(UsageError):
    """A quantity has no unit, or one of another kind."""


class QueryError(UsageError):
    """A query file breaks its own header, or a query is called with wrong parameters."""


class InputError(TokengapError):
    """A file cannot be read as what it was said or found to be."""


class UnknownFormatError(InputError):
    """No adapter, or more than one, recognises the file."""


class KeyCollisionError(InputError):
    """Two sources hold the same (trace, request, attempt, choice, vantage)."""


class StoreError(InputError):
    """The directory is no usable store, or another writer got in first."""
