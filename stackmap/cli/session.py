"""What every command is given: the machine, what to measure on it, and where messages go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO

from stackmap.cli.output import tell
from stackmap.errors import UsageError

if TYPE_CHECKING:
    from stackmap.cli.options import MeasuringOptions
    from stackmap.cli.progress import Progress
    from stackmap.host import Host
    from stackmap.host.capture import CapturedHost
    from stackmap.host.live import LiveHost
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.measurement.capture_part import Resolution
    from stackmap.measurement.machines import CaptureSource, LiveSource
    from stackmap.measurement.source import IntervalSelection, Measurement, Note, Source
    from stackmap.model.topology import Topology

NEEDS_RECORDING = "--since, --until and --every need --from CAPTURE or --input FILE"
SOME_MISSING = 64  # exit status, as lsblk has it: some names are found, and some are not


class Session:
    """
    The options before COMMAND: *capture*, None for this machine, and which part of it.

    ``tells``: the machine is that of a text. ``status``: the exit status of the command, if it ends without an error.
    """

    def __init__(self, capture: str | None, part: Mapping[str, str | None]) -> None:
        self._capture = capture
        self.tells = False
        self._part = part  # since, until, every: of the text if there is one, else of the capture
        self.status = 0

    @cached_property
    def note(self) -> Note:
        """Takes what the readers of a text have to say, and tells each sentence once."""
        from stackmap.measurement.source import NoteOnce

        return NoteOnce(tell)

    @property
    def live(self) -> bool:
        """Whether the host is this machine, now."""
        return self._capture is None

    def take(self, text: BinaryIO) -> BinaryIO:
        """
        Take the machine that commands in *text* tell of, instead of the capture or this machine.

        Return the text, which can be read again. ``tells`` is then whether there is one.
        """
        from stackmap.measurement.ticket import told_machine

        text, told = told_machine(text, self.note)
        if told is not None:
            self._capture, self.tells = text.name, True
            self._part = dict.fromkeys(self._part)
            self._captured = told  # a cached_property
        return text

    @cached_property
    def host(self) -> Host:
        """The machine; a capture as it was at the beginning of the chosen part."""
        if self.live and any(self._part.values()):
            raise UsageError(NEEDS_RECORDING)
        return self._live_host if self._captured is None else self.capture

    def hurried(self) -> Host:
        """Return the machine, of which device-mapper gets half a second to answer before the first sample."""
        if self.live:
            self._live_host.hurry()
        return self.host

    @cached_property
    def capture(self) -> CapturedHost:
        """The capture, as it was at the beginning of the chosen part; ``UsageError`` without one."""
        if self._captured is None:
            raise UsageError("no capture: add --from CAPTURE")
        if any(self._part.values()):
            from stackmap.measurement.capture_part import CapturePart

            CapturePart(**self._part).show(self._captured)
        return self._captured

    def machine(
        self, *, events: bool = False, geometry: bool = False, resolution: Resolution | None = None
    ) -> LiveSource | CaptureSource:
        """Return the machine as a source of figures; see ``LiveSource`` and ``CaptureSource``."""
        from stackmap.measurement.capture_part import CapturePart
        from stackmap.measurement.machines import CaptureSource, LiveSource

        if self._captured is not None:
            part = CapturePart(**self._part)
            return CaptureSource(self._captured, part, geometry=geometry, resolution=resolution)
        from stackmap.cli.progress import until_interrupted

        self._live_host.hurry()
        until_end = partial(until_interrupted, stop=self._live_host.stop)
        return LiveSource(self.host, events=events, geometry=geometry, until_end=until_end)

    def measure(
        self,
        options: MeasuringOptions,
        *,
        each: int | None = None,
        geometry: bool = False,
        resolution: Resolution | None = None,
    ) -> Measurement:
        """
        Return the measurement that *options* select; report missing and unknown parts on stderr.

        *each*: every interval will be examined, on this machine by default so many.
        """
        from stackmap.discover.find import find_one_name
        from stackmap.measurement.source import Measurement

        selection, text = options.selection, options.text
        together = selection.which in (None, "average")
        part = self._part
        if text is not None:
            if text.seekable() or selection.resolved(recorded=True) == "average":
                text = self.take(text)
            self._part = dict.fromkeys(part)
        if each is not None:
            selection = selection.every(each, live=self.live and text is None)
        events = selection.seconds is not None and not options.no_machine
        coarse = resolution if text is None else None
        machine = self.machine(events=events, geometry=geometry, resolution=coarse)
        source: Source = machine
        if text is not None:
            from stackmap.measurement.capture_part import CapturePart
            from stackmap.measurement.text import TextSource

            held = resolution is not None and together
            source = TextSource(text, machine, self.note, CapturePart(**part), held=held)
        elif machine.note:
            tell(machine.note)
        measured = Measurement(
            source,
            selection,
            options.names,
            connected=each is not None,
            progress=_progress(source, selection),
        )
        if options.exact:
            find_one_name(measured.topology, options.names[0])
        self.tell_missing(measured.topology, measured.missing)
        tell_unknown(measured.topology)
        return measured

    @cached_property
    def tracing_host(self) -> LiveTracingHost:
        """The running machine, to be traced; ``UsageError`` for a capture."""
        from stackmap.host.tracing import LiveTracingHost

        if not self.live:
            raise UsageError("a capture cannot be traced: leave out --from")
        return LiveTracingHost()

    def tell_missing(self, topology: Topology, names: Iterable[str]) -> None:
        """Say on stderr which of *names* are not found, and set the exit status for it."""
        from stackmap.discover.find import not_found, unmatched

        for name in unmatched(topology, names):
            tell(not_found(topology, [name]))
            self.status = SOME_MISSING

    @cached_property
    def _live_host(self) -> LiveHost:
        from stackmap.host.live import LiveHost

        return LiveHost()

    @cached_property
    def _captured(self) -> CapturedHost | None:
        if self._capture is None:
            return None
        from stackmap.host.capture import CapturedHost

        return CapturedHost(self._capture, tell)


def _progress(source: Source, selection: IntervalSelection) -> Progress:
    from stackmap.cli.progress import Progress
    from stackmap.measurement.source import SECONDS

    if not source.live:
        return Progress(f"reading {source.name}")
    length, count = selection.seconds or SECONDS, selection.count or 1
    return Progress(
        "measuring", None if selection.seconds and not selection.count else length * count
    )


def tell_unknown(topology: Topology) -> None:
    """Say on stderr what of *topology* is not known, and why."""
    for remark in topology.remarks:
        tell(remark)
