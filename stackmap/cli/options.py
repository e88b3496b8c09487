"""The options that several commands share: what to measure, how to print it, and with which status to exit."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice, takewhile
from math import isnan
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import click

from stackmap.cli.output import CSV, MARKDOWN, missing, one_form, print_blocks
from stackmap.commands import additions

if TYPE_CHECKING:
    from stackmap.measurement.source import IntervalSelection
    from stackmap.rules.rule import Severity


Legend = Mapping[str, Mapping[str, str]]  # meanings of words, by title
Decorated = TypeVar("Decorated", bound=Callable[..., object])

LONGEST = 366  # days
DAY = 86400  # seconds


class FiniteRange(click.FloatRange):
    """A number in a range; click's range accepts NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; ``BadParameter`` if it is none or outside."""
        number: float = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


INTERVAL_RANGE = FiniteRange(min=0, max=LONGEST * DAY, min_open=True)  # seconds


class MeasuringOptions(NamedTuple):
    """
    The NAMEs, the intervals, and the text of ``--input``; None without it.

    ``exact``: the command takes one NAME and no pattern.
    """

    names: tuple[str, ...]
    selection: "IntervalSelection"
    text: BinaryIO | None
    exact: bool = False

    @property
    def no_machine(self) -> bool:
        """Whether the figures are not those of a machine while it is observed."""
        return self.text is not None or self.selection.since_boot


def split_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], float | None, int | None]:
    """
    Return the names, the interval and the count in ``[NAME...] [INTERVAL [COUNT]]``; the numbers may come first.

    >>> split_words(("vghdd", "5", "3")), split_words(("5", "vghdd"))
    ((('vghdd',), 5.0, 3), (('vghdd',), 5.0, None))
    """
    names = list(words)
    numbers: list[str] = []
    while names and len(numbers) < 2 and is_number(names[-1]):
        numbers.insert(0, names.pop())
    if not numbers:
        numbers = [*islice(takewhile(is_number, names), 2)]
        del names[: len(numbers)]
    if not numbers:
        return tuple(names), None, None
    interval, *count = numbers
    if not 0 < float(interval) <= LONGEST * DAY:
        raise click.UsageError(
            f"INTERVAL is in seconds, above 0 and at most {LONGEST} days, not {interval}"
        )
    if count and not _is_count(count[0]):
        raise click.UsageError(f"COUNT must be a whole number above 0, not {count[0]}")
    return tuple(names), float(interval), int(count[0]) if count else None


def is_number(word: str) -> bool:
    """Return whether *word* is written as a number."""
    # Not all that float() takes: 1_0 and digits of other scripts are names.
    return re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[0-9]+)?|nan|[-+]?inf", word) is not None


def _is_count(word: str) -> bool:
    return re.fullmatch(r"0*[1-9][0-9]{0,8}", word) is not None


def _check_report(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None or value in ("last", "average", "all") or _is_count(value):
        return value
    raise click.BadParameter(f"must be last, average, all or a number from 1, not {value}")


def _words(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(filter(None, value.split(",")))


text_option = click.option(
    "--input",
    "text",
    metavar="FILE",
    type=click.File("rb"),
    help="Read a text with lsblk, mdstat, LVM, iostat …; - for stdin.",
)
OPTIONS = (
    text_option,
    click.option(
        "--report",
        metavar="N|last|average|all",
        callback=_check_report,
        help="Choose intervals of FILE or CAPTURE.",
    ),
    click.option("--since-boot", is_flag=True, help="Show averages since boot."),
)

json_option = click.option(
    "-J", "--json", "as_json", is_flag=True, callback=one_form, help="Print JSON."
)
csv_option = click.option(  # print_blocks looks for it
    CSV,
    is_flag=True,
    expose_value=False,
    callback=one_form,
    help="Print the tables as CSV, with raw numbers.",
)
no_heading_option = click.option("-n", "--no-heading", is_flag=True, help="Print no headings.")
markdown_option = click.option(  # print_blocks looks for it
    "-m",
    MARKDOWN,
    is_flag=True,
    expose_value=False,
    callback=one_form,
    help="Print Markdown.",
)
layout_option = click.option(
    "--to",
    "layout",
    required=True,
    metavar="LAYOUT",
    help="Target layout: raid10, raid5:members=5,chunk=128k.",
)
onto_option = click.option(
    "--onto",
    multiple=True,
    metavar="DEVICE",
    help="PV or unused disk for the layout (repeatable).",
)
columns_option = click.option(
    "--columns",
    metavar="LIST",
    default="",
    callback=_words,
    help="Columns, comma-separated; +LIST adds to the default.",
)
sort_option = click.option("--sort", metavar="COLUMN", default="", help="Sort rows by COLUMN.")
force_option = click.option("--force", is_flag=True, help="Overwrite an existing file.")
why_option = click.option("--why", is_flag=True, help="Explain corrected counters.")
STATUSES = {"warning": 10, "critical": 11}  # for monitoring, by severity
NOT_JUDGED = 12
exit_code_option = click.option(
    "--exit-code", is_flag=True, help="Exit with 10 (warning), 11 (critical), 12 (not judged)."
)


def legend_option(columns: Callable[[], Legend]) -> Callable[[Decorated], Decorated]:
    """Return ``--legend``, which explains what *columns* returns and the terms of the field."""

    def explain(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted:
            from stackmap.document.table_options import legend

            print_blocks(legend(columns()))
            ctx.exit()

    return click.option(
        "--legend",
        "--list-columns",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=explain,
        help="Explain columns and words, and exit.",
    )


def with_additions(place: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that features add to *place*; its argument ``additions`` has what they ask for."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for add_to in additions(place):
            command = add_to(command)
        return command

    return decorate


def measuring(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of what to measure, as one ``MeasuringOptions``: its argument ``options``."""
    return _measuring(command, "[NAME...] [INTERVAL [COUNT]]")


def measuring_one(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the options of what to measure on exactly one NAME."""
    return _measuring(command, "NAME [INTERVAL [COUNT]]", exact=True)


def _measuring(
    command: Callable[..., None], usage: str, *, exact: bool = False
) -> Callable[..., None]:

    @wraps(command)
    def run(
        *,
        words: tuple[str, ...],
        text: BinaryIO | None,
        report: str | None,
        since_boot: bool,
        **more: Any,
    ) -> None:
        from stackmap.measurement.source import (
            IntervalSelection,  # check and tree have no intervals
        )

        names, seconds, count = split_words(words)
        if exact and len(names) != 1:
            several = f"only one NAME is possible, not {' '.join(names)}"
            raise click.UsageError(several if names else missing("NAME"))
        selection = IntervalSelection(seconds, count, report, since_boot)
        command(options=MeasuringOptions(names, selection, text, exact), **more)

    decorated: Callable[..., None] = run
    for option in reversed((click.argument("words", nargs=-1, metavar=usage), *OPTIONS)):
        decorated = option(decorated)
    return decorated


def status_of(severities: "Iterable[Severity]", *, judged: bool) -> int:
    """Return the status of ``--exit-code``: of the worst of *severities*, or whether all was *judged*."""
    worst = max((STATUSES.get(severity, 0) for severity in severities), default=0)
    return worst or (0 if judged else NOT_JUDGED)
