"""Which intervals of a source, and of which devices."""

from __future__ import annotations

from dataclasses import dataclass, replace

SECONDS = 1.0  # the length of an interval on this machine, unless another is given


@dataclass(frozen=True, slots=True)
class IntervalSelection:
    """
    Which intervals.

    ``seconds``: their length on this machine; captures and texts have their own.
    ``which``: "all", "average", "last" or a number from 1; None: see ``resolved``.
    ``devices``: those whose figures are needed, None for all.
    """

    seconds: float | None = None
    count: int | None = None
    which: str | None = None
    since_boot: bool = False
    devices: frozenset[str] | None = None

    def resolved(self, *, recorded: bool) -> str:
        """Return ``which``; by default the average of what is *recorded* unless ``seconds`` is given, else all."""
        return self.which or ("average" if recorded and self.seconds is None else "all")

    def every(self, count: int, *, live: bool) -> IntervalSelection:
        """
        Return the selection of a command that examines every interval.

        An average becomes all intervals. On a live machine the default is *count* of them.
        """
        each = replace(self, which="all" if self.which in (None, "average") else self.which)
        if not live:
            return each
        count = self.count or (1 if self.seconds else count)
        return replace(each, seconds=self.seconds or SECONDS, count=count)
