"""Requests that carry data, one way."""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.model.load import ratio


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests that carry data, one way, and their bytes; both a second."""

    requests: float
    bytes: float

    @property
    def size(self) -> float:
        """Mean bytes a request, 0 where there is none."""
        return ratio(self.bytes, self.requests) or 0.0

    def __add__(self, other: Stream) -> Stream:
        return Stream(self.requests + other.requests, self.bytes + other.bytes)

    def scaled(self, factor: float) -> Stream:
        """Return both times *factor*."""
        return Stream(self.requests * factor, self.bytes * factor)


NONE = Stream(0.0, 0.0)
