"""How far something has come, and the state that it makes of a device: md and device-mapper alike."""

from __future__ import annotations

_IDLE = ("idle", "frozen")


def percent(part: float, whole: float) -> str:
    """
    Return *part* of *whole* as people read it; of nothing, all is done.

    >>> percent(1, 8), percent(0, 0)
    ('12.5 %', '100.0 %')
    """
    return f"{100 * part / whole if whole else 100:.1f} %"


def raid_state(*, failed: bool, action: str, progress: str) -> str:
    """Return the state in words: a failed member first, then what is under way."""
    # A recovery is told by itself: it says that a member is not whole yet.
    words = ["degraded"] if failed and action != "recover" else []
    if action not in _IDLE:
        words.append(f"{action} {progress}".strip())
    return ", ".join(words) or "active"
