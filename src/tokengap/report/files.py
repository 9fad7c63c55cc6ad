"""Files of a report."""

from pathlib import Path

from tokengap.errors import UsageError


def write_file(path: Path, content: str | bytes) -> None:
    """Write the file, text as UTF-8; UsageError if the disk will not have it."""
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
