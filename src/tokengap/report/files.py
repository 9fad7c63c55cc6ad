"""Files of a report."""

import os
from pathlib import Path

from tokengap.errors import UsageError


def write_file(path: Path, content: str | bytes) -> None:
    """Write the file, text as UTF-8; UsageError if the disk will not have it."""
    try:
        path.write_bytes(_bytes(content))
    except OSError as error:
        raise _not_written(path, error) from error


def replace_file(path: Path, content: str | bytes) -> None:
    """Write the file so that whoever reads it meanwhile gets the old one or the new, all of it.

    UsageError if the disk will not have it: the old one is then as it was.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(_bytes(content))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written ({error.strerror})")
