"""A recording that another recorder began, perhaps one that was killed, made ready for more segments."""

from __future__ import annotations

import zlib

from stackmap.errors import CaptureError
from stackmap.host.capture_files import FORMAT, read_manifest
from stackmap.host.directory import Directory
from stackmap.host.file_tree import DirectoryTree
from stackmap.host.log import (
    FOLDER,
    FRAME_COUNT,
    GZIP,
    Ending,
    Frames,
    apply_entries,
    encode_frame,
    parse_count,
    segment_start,
)
from stackmap.host.log_writer import LEVEL


def complete_last_segment(directory: Directory) -> int:
    """
    Complete the newest segment, which a crash may have cut off, and return the frames so far.

    Segments that were cut off before the end of their first frame are removed. ``CaptureError`` if this is no recording of this format.
    """
    tree = DirectoryTree(directory.path)
    if read_manifest(tree, directory.path).get("format") != FORMAT:
        raise CaptureError(
            f"{directory.path}: not a recording of this version; give a new directory"
        )
    names = [name for name in directory.names(FOLDER) if segment_start(name) is not None]
    for name in sorted(names, key=lambda name: segment_start(name) or 0.0, reverse=True):
        path = f"{FOLDER}/{name}"
        content = tree.read(path)
        frames = Frames(content)
        first = next(iter(frames), None)
        if first is None:
            if frames.ending is not Ending.DAMAGED:
                directory.remove(path)
            continue
        answer = apply_entries({}, first[1], path).get(FRAME_COUNT, "0 0")
        frames = Frames(content)
        count = sum(1 for _ in frames)
        if frames.ending is Ending.CUT:  # of a damaged one, readers tell what is left out
            directory.write(f"{path}.new", _ended(content))
            directory.rename(f"{path}.new".lstrip("/"), path.lstrip("/"))
        return parse_count(answer, path)[0] + count
    return 0


def _ended(content: bytes) -> bytes:
    """Return the complete frames of a segment as one that ends."""
    packing = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    frames = (encode_frame(time, [entries]) for time, entries in Frames(content))
    return b"".join([*map(packing.compress, frames), packing.flush()])
