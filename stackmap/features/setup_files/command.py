"""``stackmap setup-files``: what a package of the distribution has outside of Python."""

import os
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

from stackmap.errors import InputError, StackmapError

SHIPPED = re.compile(r"(?:\.\./)+((?:share|lib/systemd)/.+)")  # in RECORD, from site-packages
PROGRAM = "/usr/bin/stackmap"  # in the services


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


def shipped() -> dict[str, Path]:
    """Return the files by their path below a prefix."""
    try:
        files = distribution("stackmap").files or ()
    except PackageNotFoundError:
        files = ()
    shipped_files = {
        match[1]: Path(str(file.locate()))
        for file in files
        if (match := SHIPPED.fullmatch(file.as_posix()))
    }
    if not shipped_files:
        raise InputError("nothing to copy: only a stackmap that pip installed needs setup-files")
    return shipped_files


def put(source: Path, target: Path, program: str) -> None:
    """Copy a file; a service starts *program*."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".service":
            target.write_text(source.read_text().replace(PROGRAM, program))
        else:
            shutil.copyfile(source, target)
    except OSError as error:
        raise StackmapError(f"{target}: {error.strerror}") from error
