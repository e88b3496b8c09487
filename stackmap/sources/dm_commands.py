"""
What dmsetup is asked for, in a module of its own: it is begun before what reads the answers is imported.

Keys of dm-crypt are never asked for. Plain ``dmsetup status`` commits the metadata of thin pools, caches
and clones and waits for it, I/O of our own making (KERNEL 4.2): so ``--noflush``, always.
"""

TABLE = ("dmsetup", "table")
STATUS = ("dmsetup", "status", "--noflush")

# ``attr`` is four letters: (L)ive table, (I)nactive one, (s)uspended, (r)ead-only or (w)ritable.
INFO = (
    "dmsetup", "info", "--columns", "--noheadings", "--separator=|",
    "--options=name,major,minor,attr,uuid",
)  # fmt: skip
