"""`tokengap store vacuum`: make room."""

import click

from tokengap.cli.store.options import GRACE, STORE


@click.command()
@STORE
@GRACE
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def vacuum(path: str, grace_ns: int, *, dry_run: bool) -> None:
    """Remove the files that no query sees.

    These are what a killed writer left, and what was replaced, merged or pruned. A reader of an
    older version of the store still needs the latter: no version from before the grace can be read
    afterwards. Nothing may be writing when --grace is 0h.
    """
    from tokengap.store.tables import open_store
    from tokengap.store.unnamed import total_bytes
    from tokengap.store.unnamed import vacuum as vacuumed
    from tokengap.units import format_bytes, format_count

    found = vacuumed(open_store(path), grace_ns=grace_ns, dry_run=dry_run)
    for named, what in ((False, "that no commit names"), (True, "that only older versions name")):
        files = [file for file in found if file.named is named]
        number = "1 file" if len(files) == 1 else f"{format_count(len(files))} files"
        verb = "would be removed" if dry_run else "removed"
        click.echo(f"{number} {what} {verb}, {format_bytes(total_bytes(files))}")
