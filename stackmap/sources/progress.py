"""Progress and state as text, for md and device-mapper alike."""

from __future__ import annotations


def percent(part: float, whole: float) -> str:
    """
    Return *part* of *whole* as a percentage; 100 % of nothing.

    >>> percent(1, 8), percent(0, 0)
    ('12.5 %', '100.0 %')
    """
    return f"{100 * part / whole if whole else 100:.1f} %"


def raid_state(*, failed: bool, action: str, progress: str) -> str:
    """Return the state in words: a failed member first, then the running action."""
    # "recover" already says that a member is not in sync.
    words = ["degraded"] if failed and action != "recover" else []
    if action not in ("idle", "frozen"):
        words.append(f"{action} {progress}".strip())
    return ", ".join(words) or "active"
