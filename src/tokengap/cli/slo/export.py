"""`tokengap slo export`: an SLO file as OpenSLO."""

from pathlib import Path

import click

from tokengap.cli.slo.outputs import FILE, writing


@click.command()
@FILE
@writing
def export(path: Path) -> str:
    """Write what an SLO file promises as OpenSLO v1 YAML, one SLO a version of an objective.

    `slo import` reads it back as the same. Needs PyYAML: pip install 'tokengap[openslo]'.
    """
    from tokengap.slo.openslo import to_openslo
    from tokengap.slo.services import read_services

    return to_openslo(read_services(path))
