"""One event of the kernel's block layer, as a tracepoint reports it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Step(StrEnum):
    """What happened: the tracepoint's name without ``block_``."""

    QUEUE = "bio_queue"
    REMAP = "bio_remap"
    BIO_DONE = "bio_complete"
    ISSUE = "rq_issue"
    COMPLETE = "rq_complete"
    RQ_REMAP = "rq_remap"


class BlockEvent(NamedTuple):
    """
    An event of a request on a device.

    ``time``: seconds of the trace clock. ``command``, ``pid``: the thread that ran, for ``QUEUE``
    the submitter. ``number``: major:minor. ``flags``: the kernel's letters ("WS").
    ``sector``, ``sectors``: 512 bytes each. ``source``: number and sector above, of a remap only.
    """

    time: float
    step: Step
    command: str
    pid: int
    number: str
    flags: str
    sector: int
    sectors: int
    source: tuple[str, int] | None = None

    @property
    def operation(self) -> str:
        """Read, write, discard, flush or other; what has no bytes is a flush."""
        if not self.sectors:
            return "flush"
        letters = self.flags[1:] if self.flags[:1] == "F" else self.flags
        return {"R": "read", "W": "write", "D": "discard", "F": "flush"}.get(letters[:1], "other")
