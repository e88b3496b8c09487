"""
A file system's journal: how often it commits, and its share of the writes.

A commit is a write with PREFLUSH and FUA (jbd2: fs/jbd2/commit.c, journal_submit_commit_record;
XFS: fs/xfs/xfs_log.c, xlog_write_iclog). dm splits it into an empty flush and a write with FUA, so there are
at most as many commits as there are of either.

jbd2 sends what precedes a commit at once and in sequence. So the disks merge it into one request, on any
layout. A journal writes sequentially.
"""

from __future__ import annotations

from typing import NamedTuple

from stackmap.features.whatif.measured import Measured
from stackmap.model.raid import PAGE, Layout


class Journal(NamedTuple):
    """
    ``commits``, ``requests``, ``bytes``: per second at the volume, commits among the requests.
    ``joined``: share of all the volume's writes that merge into another of the
    journal's at the disks. ``run``: bytes per write of everything else.
    """

    commits: float
    requests: float
    bytes: float
    joined: float
    run: float


def journal_of(
    measured: Measured, layout: Layout | None, sequential: float | None
) -> Journal | None:
    """
    Return the journal among the writes; None if there is none, or nothing shows it.

    *sequential*: the sequential share of bytes, known on parity levels. Elsewhere
    what merges at the disks is taken as sent before commits, equally much each time.
    """
    written, commits = measured.write, min(measured.fua_writes or 0.0, measured.known_flushes)
    # Where all writes have FUA they are O_DSYNC, not commits: something precedes a commit.
    if layout is None or not commits or written.requests < 2 * commits:
        return None
    page = min(PAGE, written.size)
    joined = _joined(measured, layout) if sequential is None else None
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


def _joined(measured: Measured, layout: Layout) -> float | None:
    """Return the volume's writes per second that merged at its disks; None where md's pages hide it."""
    if layout.parity or measured.disks_write is None:
        return None
    flushes = measured.known_flushes * layout.members
    done = max(0.0, measured.disks_write.requests - flushes) / layout.copies
    return max(0.0, measured.write.requests - done)
