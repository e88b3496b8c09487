"""
What the evidence leaves open of a load's writes: how much is sequential, and over how much of the volume the
rest is spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.features.whatif import bitmap as bits
from stackmap.features.whatif.bitmap import Bitmap
from stackmap.features.whatif.bitmap_rate import BitSets
from stackmap.features.whatif.journal import Journal
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import PAGE

MIN_REGIONS = 32  # of fewer, a stream and random writes set about as many bits
BY_BITMAP = "the bitmap's bits, set {} a stream would set them"


class Hypothesis(NamedTuple):
    """
    One possible pattern: the ``sequential`` share of bytes, at how many places per second the others begin,
    ``random``, and the bytes of the volume that these are spread over, ``span``; None if unbounded.
    ``following``: the share of bytes that follow others, in a stream or in a run.
    """

    sequential: float
    random: float
    span: float | None
    following: float

    def bits_set(self, written: float, scale: float, bitmap: Bitmap, period: float) -> float:
        """
        Return the bits of *bitmap* set per second if its daemon runs every *period*.

        *written*: bytes per second; *scale*: load as a multiple of the average.
        """
        random = self.random * scale
        if self.span is not None:  # of unbounded regions, each write finds a clean one
            random = bits.random_sets(random, max(1e-3, self.span / bitmap.covers), period)
        return self.following * written / bitmap.covers + random


class Evidence(NamedTuple):
    """
    What is known of the writes ``write``. ``runs``: at how many places per second they begin, if several arrive
    together; ``by_rows``: the sequential share that parity reads show; ``large``: the share of
    writes that are large; ``sets``: of the bitmap. Each None if nothing shows it.
    """

    write: Stream
    runs: float | None
    by_rows: float | None
    journal: Journal | None
    large: float | None
    sets: BitSets | None

    def hypotheses(self, context: VolumeContext) -> tuple[tuple[Hypothesis, ...], tuple[str, ...]]:
        """Return the hypotheses, the likely one first, and noun phrases for what they follow from."""
        shares, told = self._shares()
        found = (
            each
            for share in shares
            for random in self._random_rates(share)
            for each in self._spread(context, share, random)
        )
        return tuple(dict.fromkeys(found)), tuple(told)

    def _shares(self) -> tuple[list[float], list[str]]:
        """Return the possible sequential shares of bytes, the likely one first, and the evidence."""
        if not self.write.bytes:
            return [0.0], []
        if self.by_rows is not None:
            return [self.by_rows], ["parity reads that the stripe cache avoided"]
        shares: list[float] = [0.0, 1.0]
        told: list[str] = []
        if self.sets is not None and (self.sets.bitmap.regions or MIN_REGIONS) >= MIN_REGIONS:
            shares, told = self._shares_by_bits(self.sets)
        if self.journal is None:
            return shares, told
        share = self.journal.bytes / self.write.bytes
        return [share, *shares], ["a journal's commits and the writes sent with them"]

    def _shares_by_bits(self, sets: BitSets) -> tuple[list[float], list[str]]:
        """Return the shares that fit the set bits: those of a stream, or with enough writes all over the volume."""
        stream = self.write.bytes / sets.bitmap.covers
        if sets.counted <= stream <= sets.high:
            told = [BY_BITMAP.format("about as often as")]
            everywhere = bits.random_sets(
                self.write.requests, sets.bitmap.regions or bits.MAX_REGIONS
            )
            # None at all are set in a few regions that are never clean, and few in all if there are many writes.
            return [1.0] if sets.counted and everywhere > sets.high else [1.0, 0.0], told
        if sets.likely < stream:
            return [0.0, 1.0], [BY_BITMAP.format("less often than")]
        # Each random write sets a bit at most; the other bytes may be a stream.
        fewest = max(0.0, sets.low - stream)
        small = None if self.large is None else (1 - self.large) * self.write.requests
        most = 1 - fewest * (self.write.size if small is None else PAGE) / self.write.bytes
        likely = 0.0
        if small is not None and small >= fewest:
            likely = 1 - small * PAGE / self.write.bytes
        return list(dict.fromkeys((likely, 0.0, max(0.0, most)))), [
            BY_BITMAP.format("more often than")
        ]

    def _random_rates(self, share: float) -> list[float]:
        """
        Return at how many places per second writes may begin if a *share* of bytes is sequential: likely, and at most.

        Requests, or runs of them; but no fewer than set a bit.
        """
        writes, sets = self.write.requests, self.sets
        if share == 1:
            return [0.0]
        if self.journal is not None and share:
            return [writes - self.journal.requests]
        if self.runs is not None:
            stream = 0.0 if sets is None else share * self.write.bytes / sets.bitmap.covers
            least = 0.0 if sets is None else sets.low - stream
            return [min(writes, max(least, self.runs)) * (1 - share), writes * (1 - share)]
        if self.large is None:
            return [(1 - share) * writes]
        return [(1 - min(share, self.large)) * writes, writes]

    def _spread(self, context: VolumeContext, share: float, random: float) -> Iterator[Hypothesis]:
        """Yield a hypothesis for each estimate of the set bits."""
        whole, sets = None if context.size is None else float(context.size), self.sets
        following = share if self.runs is None else 1 - random / self.write.requests
        if sets is None or not random:
            yield Hypothesis(share, random, whole, following)
            return
        covers, period = sets.bitmap.covers, bits.daemon_period(context.present)
        stream = following * self.write.bytes / covers
        for each in (sets.likely, sets.low, sets.high):
            at_random = max(0.0, each - stream)
            regions = bits.regions_for(random, at_random, sets.bitmap.regions, period)
            yield Hypothesis(share, random, regions * covers, following)
        if context.present is not None and not context.present.parity:
            # The daemon may sleep, so few set bits show nothing.
            yield Hypothesis(share, random, whole, following)
