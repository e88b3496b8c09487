"""What one reader learned of one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackmap.model.device import Device
from stackmap.model.topology import Edge


@dataclass(frozen=True, slots=True)
class Found:
    """
    A device, the edges down from it, and the states it tells of those below.

    ``doubts``: what a reader could only guess, or not even that, by the name
    of the doubt; ``mapped.unknown`` makes one sentence of all that share it.
    """

    device: Device
    edges: tuple[Edge, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
