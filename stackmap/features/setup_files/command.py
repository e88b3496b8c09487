"""``stackmap setup-files``: what a package of the distribution has outside of Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from stackmap.features.setup_files.installed import put, shipped


@click.command()
@click.option(
    "--to",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Prefix, such as /usr/local.",
)
def command(to: Path) -> None:
    """
    Put manual, completion, services and rules in place.

    For a stackmap that pip installed; packages of a distribution have these files in place.
    """
    program = os.path.abspath(sys.argv[0])
    for name, source in sorted(shipped().items()):
        put(source, to / name, program)
        click.echo(to / name)
