"""What members of each RAID level together write and read per byte of a volume, as inference from figures tries it."""

from typing import NamedTuple

from stackmap.model.device import Kind


class Shape(NamedTuple):
    """
    What *members* and more of them together write and read per byte of a volume.

    ``each``: there are no more, and every one writes as much as another. ``caused``: bytes that they read per byte
    that the volume writes. ``most``: members at most, 0 for any number.
    """

    level: str
    writes: float
    reads: float
    members: int
    each: bool = False
    target: str = ""
    caused: float = 0
    most: int = 0


# Small writes to RAID5 and RAID6, by the reads that each page needs: stackmap-kernel(7), RAID write paths.
PARITY = (
    Shape("raid5", 2, 1, 3, caused=1, most=3),
    Shape("raid5", 2, 1, 4, caused=2),
    Shape("raid6", 3, 1, 4, caused=1, most=4),
    Shape("raid6", 3, 1, 5, caused=2, most=5),
    Shape("raid6", 3, 1, 6, caused=3),
)
RAID = (
    Shape("raid1", 2, 1, 2, each=True),
    Shape("raid1", 3, 1, 3, each=True),
    Shape("raid10", 2, 1, 4),
    *PARITY,
)
# Linux 5.14 and later count each I/O of an LVM RAID volume twice, in dm and in md: stackmap-kernel(7).
TWICE = tuple(
    shape._replace(writes=shape.writes / 2, reads=0.5, caused=shape.caused / 2, target="raid")
    for shape in RAID
)
SHAPES = {
    Kind.ARRAY: (Shape("raid0", 1, 1, 2), *RAID),
    Kind.DM: (
        Shape("striped", 1, 1, 2, target="striped"),
        *(shape._replace(target="raid") for shape in RAID),
        *TWICE,
    ),
}
# Reads alone do not tell a level.
READ = {Kind.ARRAY: (Shape("", 1, 1, 2),), Kind.DM: (Shape("", 1, 1, 2), Shape("", 0.5, 0.5, 2))}
ALONE = Shape("", 1, 1, 1)
SUM = Shape("", 1, 1, 2)  # of volumes on one device
