"""
Everything stackmap raises on purpose; each message says what, and where.

StackmapError
├── SourceError          the system would not answer
│   ├── SourceMissing    a file, tool or library is not there
│   ├── SourceDenied     it is there, but this user may not ask it
│   └── SourceTimeout    it did not answer in time: a suspended device, a dead path
├── ParseError           it answered in a form we do not know
├── CaptureError         a capture is damaged, hostile, or no capture at all
├── InputError           a file handed to us holds nothing that can be used
├── UsageError           options or arguments that make no sense; exit status 2
├── LayoutError          a layout that was asked for cannot be
├── PlanRefused          no way to get there is known to be safe
├── TargetRefused        a device that shall be overwritten is in use
└── NameNotFound         no device has the requested name

The command line catches ``StackmapError`` once; anything else is a bug and
keeps its traceback.
"""

from typing import ClassVar


class StackmapError(Exception):
    """What went wrong, in one line a tired reader can act on."""

    exit_code: ClassVar[int] = 1


class SourceError(StackmapError):
    """The system would not answer."""


class SourceMissing(SourceError):
    """A file, tool or library is not there."""


class SourceDenied(SourceError):
    """It is there, but this user may not ask it."""


class SourceTimeout(SourceError):
    """It did not answer in time: a suspended device, a dead path."""


class ParseError(StackmapError):
    """It answered in a form we do not know."""


class CaptureError(StackmapError):
    """A capture is damaged, hostile, or no capture at all."""


class InputError(StackmapError):
    """A file handed to us holds nothing that can be used."""


class UsageError(StackmapError):
    """Options or arguments that make no sense; the exit status that click uses for them."""

    exit_code = 2


class LayoutError(StackmapError):
    """A layout that was asked for cannot be; a usage error, as click's are."""

    exit_code = 2


class PlanRefused(StackmapError):
    """No way to get there is known to be safe here; an exit status of its own."""

    exit_code = 3


class TargetRefused(StackmapError):
    """A device that shall be overwritten is in use; as a plan that is refused."""

    exit_code = 3


class NameNotFound(StackmapError):
    """No device has the requested name; lsblk's exit status for it."""

    exit_code = 32
