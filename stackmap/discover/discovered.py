"""What a reader learned about one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.topology import Edge

NOTHING: Mapping[str, str] = {}


class Discovered(NamedTuple):
    """
    A device, the edges down from it, and the states it reports for devices below.

    ``uncertainties``: sentences with ``{devices}`` for what had to be inferred or
    is unknown; ``device_mapper.unknown`` joins the devices that share one.
    """

    device: Device
    edges: tuple[Edge, ...] = ()
    states: Mapping[str, str] = NOTHING
    uncertainties: tuple[str, ...] = ()
