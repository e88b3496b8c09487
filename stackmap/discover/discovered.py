"""What one reader learned of one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.topology import Edge

NOTHING: Mapping[str, str] = {}


class Discovered(NamedTuple):
    """
    A device, the edges down from it, and the states it tells of those below.

    ``doubts``: what a reader could only guess, or not even that, by the name
    of the doubt; ``mapped.unknown`` makes one sentence of all that share it.
    """

    device: Device
    edges: tuple[Edge, ...] = ()
    states: Mapping[str, str] = NOTHING
    uncertainties: tuple[str, ...] = ()
