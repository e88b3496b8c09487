"""
The dmsetup commands, in a module of their own so that they can start before their parsers are imported.

Keys in tables are masked (``stackmap/host/table_keys.py``). Plain ``dmsetup status`` makes thin pools, caches and clones commit
their metadata, which causes I/O (dm-thin.c: ``pool_status`` without DM_STATUS_NOFLUSH_FLAG), so
``--noflush`` is always given.
"""

from stackmap.host import Host

TABLE = ("dmsetup", "table")
STATUS = ("dmsetup", "status", "--noflush")

# ``attr`` is four letters: (L)ive table, (I)nactive one, (s)uspended, (r)ead-only or (w)ritable.
INFO = (
    "dmsetup", "info", "--columns", "--noheadings", "--separator=|",
    "--options=name,major,minor,attr,uuid",
)  # fmt: skip


def start(host: Host) -> None:
    """Start the two commands that every look at a stack needs."""
    host.start(*INFO)
    host.start(*TABLE)
