"""
The errors stackmap raises on purpose; each message says what failed and where.

The command line prints a ``StackmapError`` as one line (``PlanRefused``: one per reason). Any other exception is
a bug and keeps its traceback.
"""

from typing import ClassVar

WHAT_A_CAPTURE_IS = "a capture is what `stackmap record OUT` writes, a tar of it, or a directory with proc/ and sys/"
NO_ANSWER = "no answer within"  # in each SourceTimeout, and so in what a topology does not know
NO_DIRECTIONS = "the input has no separate read and write rates; use `iostat -x`"

# For the manual and README.md.
EXIT_STATUSES = {
    0: "Success; also after an interrupt, which prints what was measured.",
    1: "Failure; one line on standard error.",
    2: "Wrong usage.",
    3: "`plan` has no safe method; `fiojob` refused its target; an output file exists or is not a regular file.",
    10: "`--exit-code`: the worst finding is a warning.",
    11: "`--exit-code`: the worst finding is critical.",
    12: "`--exit-code`: no problem was found, but something could not be judged.",
    32: "None of the named devices was found.",
    64: "Some of the named devices were found.",
}


class StackmapError(Exception):
    """An expected failure; the message is one line that says what to do."""

    exit_code: ClassVar[int] = 1

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to print, not escaped."""
        return (str(self),)


class SourceError(StackmapError):
    """The system did not answer."""


class SourceMissing(SourceError):
    """No such file, tool or library."""


class SourceDenied(SourceError):
    """Permission denied."""


class SourceTimeout(SourceError):
    """No answer in time: a suspended device or a dead path."""


class ParseError(StackmapError):
    """An answer has an unknown form."""


class CaptureError(StackmapError):
    """A capture is damaged, unsafe, or not a capture."""


class InputError(StackmapError):
    """An input file holds nothing usable."""


class NoInterval(InputError):
    """A source has no interval at all: a rate needs two samples."""


class UsageError(StackmapError):
    """Options or arguments that contradict each other; the exit status is click's own."""

    exit_code = 2


class LayoutError(StackmapError):
    """A requested layout is impossible: a usage error, like click's own."""

    exit_code = 2


class PlanRefused(StackmapError):
    """No safe way to the requested layout is known; *reasons*: one per line below the message."""

    exit_code = 3

    def __init__(self, message: str, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reasons = reasons

    def __str__(self) -> str:
        return "\n".join((super().__str__(), *self.reasons))

    @property
    def lines(self) -> tuple[str, ...]:
        """The message and the reasons, not escaped."""
        return (super().__str__(), *self.reasons)


class OperandRefused(PlanRefused):
    """A name, a path or a value of the system cannot be part of a command."""


class TargetRefused(StackmapError):
    """A device to overwrite is in use."""

    exit_code = 3


class OutputRefused(StackmapError):
    """An output file exists, or is not a regular file."""

    exit_code = 3


class TraceRefused(StackmapError):
    """Probes under stackmap's names exist already."""

    exit_code = 3


class NameNotFound(StackmapError):
    """No device has the given name; the exit status is lsblk's."""

    exit_code = 32
