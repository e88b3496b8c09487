"""A request at one layer, with what caused it and what it caused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

REMAPPED, DERIVED, MERGED = "remap", "derived", "merge"
UNKNOWN = "unknown"  # it has a cause, which was not found: a resync, or older than the trace


@dataclass(slots=True, eq=False)
class Request:
    """
    A request at the device ``name``.

    ``command``, ``pid``: the thread that submitted it. ``queued``, ``issued``, ``done``: seconds of the
    trace clock; None if not seen. ``issued`` only at a device with a queue. ``causes``: requests above;
    ``how`` they were found: the kernel reported it, ``DERIVED`` from the layout, by merging, or ``UNKNOWN``.
    ``role``: of a member's part ("data", "parity"), "metadata", or "". ``arrivals``: the requests that
    merged into it.
    """

    id: int
    name: str
    operation: str
    flags: str
    sector: int
    sectors: int
    command: str
    pid: int
    queued: float
    issued: float | None = None
    done: float | None = None
    causes: tuple[Request, ...] = ()
    how: str = ""
    role: str = ""
    arrivals: int = 1
    dispatched: bool = False
    below: list[Request] = field(default_factory=list)
    unissued: int = 0

    def __post_init__(self) -> None:
        self.unissued = self.sectors
        for cause in self.causes:
            cause.below.append(self)

    @property
    def end(self) -> int:
        """The sector after its last."""
        return self.sector + self.sectors

    @property
    def seconds(self) -> float | None:
        """From queueing to completion; None if it was not seen to complete."""
        return None if self.done is None else self.done - self.queued

    @property
    def flushes(self) -> bool:
        """Whether it flushes the write cache first, or does only that."""
        return self.operation == "flush" or self.flags[:1] == "F"

    def caused(self) -> Iterator[Request]:
        """Yield what it caused one layer below; what was merged is replaced by what was dispatched."""
        for below in self.below:
            sent = [each for each in below.below if each.how == MERGED]
            yield from sent or [below]

    def because_of(self) -> tuple[Request, ...]:
        """Return the requests one layer above, each once, in their order."""
        found = dict.fromkeys(
            above
            for cause in self.causes
            for above in (cause.causes or (cause,) if self.how == MERGED else (cause,))
        )
        return tuple(sorted(found, key=lambda each: each.id))

    def roots(self) -> frozenset[Request]:
        """Return the requests that were not caused by another, itself if none caused it."""
        return (
            frozenset().union(*(cause.roots() for cause in self.causes))
            if self.causes
            else frozenset({self})
        )

    def settled(self) -> bool:
        """Whether it and all that it caused is done."""
        return self.done is not None and all(each.settled() for each in self.below)
