"""Standard output and standard error: documents, messages, wrong usage in one line, errors in writing."""

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from stackmap.host.table_keys import masked
from stackmap.render.text import WIDTH, safe

if TYPE_CHECKING:
    from stackmap.document.blocks import Block

STDOUT = "standard output"
LINES_AT_ONCE = 10_000
FORM = "stackmap.form"  # in click's meta: the option that chose the form of the output
CSV, MARKDOWN = "--csv", "--markdown"
WRITER = "stackmap.csv"  # key in click's meta of the CSV writer, which remembers its headings
WIDTHS = "stackmap.widths"  # key in click's meta of the widths of the columns printed so far
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


def decimal_point() -> str:
    """Return the decimal point of the locale (LC_NUMERIC), for tables for people; "." if it is not installed."""
    import locale  # no form for programs pays for it

    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "")
    except locale.Error:
        return "."
    point = str(locale.localeconv()["decimal_point"])
    locale.setlocale(locale.LC_NUMERIC, before)
    return point


def print_blocks(
    blocks: "Iterable[Block]", *, heading: bool = True, before: str = "", after: str = ""
) -> None:
    """
    Print *blocks* in the form that was chosen: as text, one at a time, as Markdown, or the tables as CSV.

    Text for a terminal has legends and colours, for a pipe whole rows. *before* and *after*: what separates
    it from that of other calls.
    """
    form = chosen_form()
    if form == CSV:
        from stackmap.render.csv import CsvWriter

        meta = click.get_current_context().meta
        lines = meta.setdefault(WRITER, CsvWriter(heading=heading)).lines(blocks)
    elif form == MARKDOWN:
        from stackmap.render.markdown import render_blocks

        lines = iter([before, render_blocks(blocks), after])
    else:
        from stackmap.render.terminal import Style, rendered

        style = Style(
            width(),
            whole_rows=not _has_width(),
            headings=heading,
            legend=sys.stdout.isatty(),
            colour=coloured(),
            widths=click.get_current_context().meta.setdefault(WIDTHS, {}),
            point=decimal_point(),
        )
        lines = chain([before], rendered(blocks, style), [after])
    while part := "".join(islice(lines, LINES_AT_ONCE)):
        click.echo(part, nl=False)


def chosen_form() -> str:
    """Return the option that chose the form of the output, such as ``--json``; "" for text."""
    context = click.get_current_context(silent=True)
    return "" if context is None else context.meta.get(FORM, "")


def coloured() -> bool:
    """Return whether standard output gets colours: as --color says; by default a terminal, without NO_COLOR."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def discard_output() -> None:
    """Discard what is still buffered for standard output: it cannot be written."""
    with contextlib.suppress(
        OSError
    ):  # no file can be opened: the process ends with what is written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# What a missing argument or option is asked for with.
QUESTIONS = {
    "NAME": "which volume?",
    "--to LAYOUT": "which layout, such as raid10?",
    "--output FILE": "which file, such as page.html?",
    "OUT": "which new directory?",
    "BEFORE": "which recording?",
    "AFTER": "which recording?",
}
# What to use in place of options that people know from iostat and lsblk, by command; options of one meaning together.
INSTEAD = {
    "iostat": {
        "-c": "for CPU figures use `mpstat`",
        "-f": "name the device",
        "-g -H": "give a VG or a pattern as NAME; --totals adds totals",
        "-j": "a UUID or a label is not a NAME; `stackmap tree -o +UUID` shows them",
        "-s": "choose columns: --columns tps,await",
        "--compact": "use --columns",
        "-L": "devices have their kernel names in parentheses",
        "-P": "`stackmap tree -o +KERNEL` shows kernel names",
        "-q": "use --columns aqu",
        "-r": "`stackmap trace` shows sizes of requests",
        "-T": "use -t",
        "-v": "use -l for the layers of a volume",
        "-w": "`stackmap trace` shows latencies",
        "--dec": "figures have two decimals; -J has all",
        "--pretty": "names come first already",
    },
    "tree": {
        "-a --all": "all devices are shown",
        "-d -N -v --nodeps --nvme --virtio": "name the disks",
        "-e -A -I --exclude --include": "name the devices to show",
        "-f --fs": "use -o +USED-BY,UUID",
        "-l --list --raw": "use -r",
        "-m --perms": "use `ls -l /dev`",
        "-p --paths": "use -o +KERNEL",
        "-S --scsi": "use -o +MODEL,SERIAL",
        "-t --topology": "use -o +PHY-SEC,LOG-SEC,MIN-IO,OPT-IO,ROTA",
        "-x --sort": "use -r and sort",
        "-Q --filter": "use -J and `jq`",
        "-q": "use 2>/dev/null",
        "-D --discard": "`lsblk -D` shows what discards can do",
        "-E --dedup": "each device is shown once already",
        "-M --merge": "each device is shown once already, ↑ points to it",
        "-T --tree": "the tree is the default",
        "-w --width": "the width is the terminal's; set COLUMNS",
        "-y": "`-P` prints names that a shell takes",
        "-Z -z --zoned": "`lsblk -z` shows zones",
        "--noheadings": "use -n",
        "--output-all": "use -O",
        "--sysroot": "use `stackmap --from CAPTURE tree`",
    },
}
EXTRA = r"Got unexpected extra arguments? \((.*)\)"
# Options of commands that are typed before them.
AFTER = {
    "--input": "explain --input FILE",
    "-i": "explain --input FILE",
    "-J": "tree -J",
    "--json": "tree --json",
    "-l": "iostat -l",
    "--per-layer": "iostat --per-layer",
}
# Options of other programs that mean the same as one of ours; and those that are words here.
MEANT = {
    "--format": "--json", "--debug": "--why", "--verbose": "--why", "--human-readable": "--human", "--fields": "--columns",
    "--show-columns": "--list-columns", "--size": "--bytes", "--sizes": "--bytes", "--reverse": "--inverse",
    "--all-columns": "--output-all", "--md": "--markdown", "--totals-only": "--totals", "--target": "--to",
}  # fmt: skip
COUNTED = ("--interval", "--count", "--delay", "--seconds", "--iterations")
ALIKE = 0.75  # similarity of a mistyped option: "--humann", but not "--sizes", means another
NO_NUMBER = r"'(.*)' is not a valid (?:float|integer|int)\b"


def missing(word: str) -> str:
    """
    Return the message that the argument or option *word* is missing.

    >>> missing("NAME")
    'missing NAME: which volume?'
    """
    question = QUESTIONS.get(word)
    return f"missing {word}: {question}" if question else f"missing {word}"


def one_line(error: click.UsageError) -> str:
    """Return the message of *error* and the command that prints the right usage."""
    message = _message(error).removesuffix(".")
    if error.ctx is None or "`" in message:  # it names a command already
        return message
    stop = " See" if message.endswith("?") else "; see"
    return f"{message}{stop} `{error.ctx.command_path} --help`"


def _no_option(error: click.NoSuchOption) -> str:
    """Return the message that there is no such option here, and what may be meant."""
    name, ctx = error.option_name, error.ctx
    if ctx is not None and ctx.parent is not None:
        of_all = {word for option in ctx.parent.command.params for word in option.opts}
        if name in of_all:
            command = ctx.parent.command_path
            return f"{name} must stand before '{ctx.info_name}'; see `{command} --help`"
        for options, instead in INSTEAD.get(str(ctx.info_name), {}).items():
            if name in options.split():
                return f"no option {name} here: {instead}"
    elif ctx is not None and name in AFTER:
        return f"{name} must stand after the command: `{ctx.command_path} {AFTER[name]}`"
    from difflib import get_close_matches

    here = {word for option in ctx.command.params for word in option.opts} if ctx else set()
    if name in COUNTED and ctx is not None and "INTERVAL" in str(ctx.command.get_usage(ctx)):
        return f"no option {name}: INTERVAL and COUNT are words, `{ctx.command_path} 1 5`"
    similar = [option for option in (MEANT.get(name),) if option in here]
    similar += get_close_matches(name, error.possibilities or (), 1, ALIKE)
    advice = f"; did you mean {similar[0]}?" if similar else ""
    return f"no option {name}{advice}"


def _message(error: click.UsageError) -> str:
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return missing(_name_of(error.param))
    if isinstance(error, click.NoSuchOption):
        return _no_option(error)
    if isinstance(error, click.BadParameter) and error.param is not None:
        if wrong := re.match(NO_NUMBER, error.message):
            return f"{_option_or_word(error.param)} must be a number, not {wrong[1]}"
        return f"{error.param_hint or _option_or_word(error.param)}: {error.message}"
    if extra := re.match(EXTRA, error.message):
        return f"unexpected argument {extra[1]}"
    # An ordinary word: INTERVAL and --to are names.
    first, rest = error.message[:1], error.message[1:]
    return first.lower() + rest if rest[:1].islower() else error.message


def _name_of(parameter: click.Parameter) -> str:
    name = _option_or_word(parameter)
    return f"{name} {parameter.metavar or ''}" if isinstance(parameter, click.Option) else name


def _option_or_word(parameter: click.Parameter) -> str:
    """Return ``--to`` or ``NAME``."""
    if isinstance(parameter, click.Option):
        return parameter.opts[-1]
    return parameter.human_readable_name.upper().strip("[]")


def one_form(ctx: click.Context, option: click.Parameter, wanted: bool) -> bool:
    """Return *wanted*, for an option that chooses the form of the output; a second form is wrong usage."""
    first = ctx.meta.setdefault(FORM, option.opts[-1]) if wanted else ""
    if wanted and first != option.opts[-1]:
        raise click.UsageError(f"choose one form of output: {first} or {option.opts[-1]}")
    return wanted
