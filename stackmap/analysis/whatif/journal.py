"""
A file system's journal among the writes: how often it commits, and how much of the writes it is.

A commit is a write that asks for a flush before it and for FUA (jbd2: fs/jbd2/commit.c,
journal_submit_commit_record; XFS: fs/xfs/xfs_log.c, xlog_write_iclog). dm makes two of it, an empty flush and a
write with FUA (KERNEL 1.2): as many commits there are as there are of both.

What jbd2 puts before a commit, it sends at once and one after another: at the disks it is one request, and so
on any layout. What a journal writes follows on what it wrote before.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.whatif.measured import Measured
from stackmap.model.raid import PAGE, Layout


@dataclass(frozen=True, slots=True)
class Journal:
    """
    ``commits``: a second. ``requests`` and ``bytes``: a second, its writes at the volume, commits
    among them. ``joined``: the share of all the volume's writes that is joined to another of the
    journal's at the disks. ``run``: bytes of a write that is not the journal's.
    """

    commits: float
    requests: float
    bytes: float
    joined: float
    run: float


def journal_of(found: Measured, layout: Layout | None, sequential: float | None) -> Journal | None:
    """
    Return the journal in the writes of *found*; None where there is none, or nothing tells.

    *sequential*: the share of the bytes that is, where rows of parity told it. Elsewhere what is
    joined at the disks is taken to be what was sent before commits, each time as much.
    """
    written, commits = found.write, min(found.fua_writes or 0.0, found.known_flushes)
    # Where all writes ask for FUA, they are O_DSYNC rather than commits: those have something before them.
    if layout is None or not commits or written.requests < 2 * commits:
        return None
    page = min(PAGE, written.size)
    joined = _joined(found, layout) if sequential is None else None
    if joined is not None:
        requests = commits + joined + min(joined, commits)
    elif sequential is not None:
        requests = sequential * written.bytes / page
    else:
        return None
    requests = min(requests, written.requests - commits)
    others = (written.bytes - requests * page) / (written.requests - requests)
    joined = max(0.0, requests - 2 * commits) / written.requests
    return Journal(commits, requests, requests * page, joined, max(page, others))


def _joined(found: Measured, layout: Layout) -> float | None:
    """Return the volume's writes a second that its disks made one with another; None where pages hide it."""
    if layout.parity or found.disks_write is None:
        return None
    known_flushes = found.known_flushes * layout.members
    done = max(0.0, found.disks_write.requests - known_flushes) / layout.copies
    return max(0.0, found.write.requests - done)
