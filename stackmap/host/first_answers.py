"""
The answers before a recording's first sample, in one file that any tar reads.

A host with 1,000 devices gives some 22,000 of them; as files they took seconds to write and 4 KiB each.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return a compressed tar with *files* by absolute path."""
    buffer = io.BytesIO()
    # Level 1: mostly padding, and the host under investigation has other work.
    with tarfile.open(
        fileobj=buffer, mode="w:gz", compresslevel=1, format=tarfile.GNU_FORMAT
    ) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size = len(content)
            member.mode = 0o600
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
