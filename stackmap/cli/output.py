"""Standard output and standard error: width, documents as text, messages, errors in writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from stackmap.host.table_keys import masked
from stackmap.render.text import WIDTH, safe

if TYPE_CHECKING:
    from stackmap.document.blocks import Block
    from stackmap.render.terminal import Style

STDOUT = "standard output"
LINES_AT_ONCE = 10_000
FORM = "stackmap.form"  # in click's meta: the option that chose the form of the output
CSV = "--csv"
WRITER = "stackmap.csv"  # in click's meta: the writer of CSV, which knows what it wrote before
CLEAR = "\r\x1b[K"  # removes a line of progress from a terminal


def tell(message: str, *details: str) -> None:
    """
    Print *message* and *details* on stderr, each in one line that cannot control a terminal.

    A message may quote its input, such as a line of a table: keys are masked.
    """
    clear = CLEAR if sys.stderr.isatty() else ""
    click.echo(f"{clear}stackmap: {safe(masked(message))}", err=True)
    for detail in details:
        click.echo(f"  {safe(masked(detail))}", err=True)


def width() -> int:
    """Return how many columns to fill: those of the terminal, in a pipe or a file ``COLUMNS`` or ``WIDTH``."""
    if not _has_width():
        return WIDTH
    import shutil  # only a terminal pays for it

    return shutil.get_terminal_size((WIDTH, 0)).columns


def _has_width() -> bool:
    """Return whether output goes to a terminal, or to a pipe or a file of ``COLUMNS``."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def as_text(blocks: Iterable[Block], *, heading: bool = True) -> str:
    """Return *blocks* as text for standard output; a terminal gets legends and colours, a pipe whole rows."""
    from stackmap.render.terminal import render_text  # every command imports this module

    return render_text(blocks, _style(heading=heading))


def print_blocks(
    blocks: Iterable[Block], *, heading: bool = True, before: str = "", after: str = ""
) -> None:
    """
    Print *blocks* as text, one at a time, or with ``--csv`` their tables as CSV.

    *before* and *after*: what separates the text from that of other calls.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(FORM) == CSV:
        from stackmap.render.csv import CsvWriter

        writer = context.meta.setdefault(WRITER, CsvWriter(heading=heading))
        lines = writer.lines(blocks)
    else:
        from stackmap.render.terminal import rendered

        lines = chain([before], rendered(blocks, _style(heading=heading)), [after])
    while part := "".join(islice(lines, LINES_AT_ONCE)):
        click.echo(part, nl=False)


def _style(*, heading: bool) -> Style:
    from stackmap.render.terminal import Style

    return Style(
        width(),
        whole_rows=not _has_width(),
        headings=heading,
        legend=sys.stdout.isatty(),
        colour=coloured(),
    )


def as_markdown(blocks: Iterable[Block]) -> str:
    """Return *blocks* as Markdown."""
    from stackmap.render.markdown import render_blocks  # only a ticket pays for it

    return render_blocks(blocks)


def coloured() -> bool:
    """Return whether standard output gets colours: as --color says; by default a terminal, without NO_COLOR."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def discard_output() -> None:
    """Discard what is still buffered for standard output: it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
