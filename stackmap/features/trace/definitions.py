"""
What can be defined in tracefs: probes, synthetic events and hist triggers.

Documentation/trace/kprobetrace.rst and histogram.rst describe the texts. Everything has stackmap's name: the
group of the probes, and the first word of the synthetic events. So all of it can be found and removed.
"""

from __future__ import annotations

from typing import NamedTuple

GROUP = "stackmap"


class Probe(NamedTuple):
    """A kprobe event of the group; ``fields``: "dev=+8($arg1):u32"."""

    name: str
    symbol: str
    fields: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The line that defines it."""
        return " ".join((f"p:{GROUP}/{self.name}", self.symbol, *self.fields))


class Synthetic(NamedTuple):
    """A synthetic event; its name begins with the group's name; ``fields``: "u32 dev; u64 lat"."""

    name: str
    fields: str


class Trigger(NamedTuple):
    """
    A hist trigger of an *event* ("block/block_bio_queue"): "hist:keys=dev if dev != 0".

    ``counts``: whether its histogram is read. One that is not read keeps variables for another, and is never paused.
    """

    event: str
    text: str
    counts: bool = True

    def in_state(self, state: str) -> Trigger:
        """
        Return the trigger that pauses this one ("pause"), continues it ("cont") or clears it ("clear").

        >>> Trigger("block/block_bio_queue", "hist:keys=dev if dev != 0").in_state("cont").text
        'hist:keys=dev:cont if dev != 0'
        """
        histogram, condition, rest = self.text.partition(" if ")
        return self._replace(text=f"{histogram}:{state}{condition}{rest}")


class ProbeSet(NamedTuple):
    """Probes, the synthetic events that their triggers make, and the triggers."""

    probes: tuple[Probe, ...] = ()
    synthetic: tuple[Synthetic, ...] = ()
    triggers: tuple[Trigger, ...] = ()
