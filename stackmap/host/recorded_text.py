"""Limits for what a capture contains; what Python needs for a text may be 25 times its bytes."""

from __future__ import annotations

import json
from typing import Any

from stackmap.errors import CaptureError
from stackmap.host.capture_paths import decoded

MAX_LINES = 400_000  # of an answer; a table of 20,000 devices has as many lines as segments
MAX_JSON_VALUES = 1_500_000  # the report of 20,000 LVs has 700,000
END_OF_TIME = 253402300800  # the beginning of the year 10,000; later instants cannot be shown


def is_instant(time: float) -> bool:
    """Whether *time* is from 1970 on and before the year 10,000; False for NaN."""
    return 0 <= time < END_OF_TIME


def recorded_text(content: bytes, path: str) -> str:
    """Return an answer as text; ``CaptureError`` naming *path* if it has too many lines."""
    if len(content) > MAX_LINES < content.count(b"\n"):
        raise CaptureError(f"{path}: refused: more than {MAX_LINES} lines in one answer")
    return decoded(content)


def parse_json(content: bytes | str, what: str) -> Any:
    """Return what is in JSON text; ``CaptureError`` naming *what* if it is damaged or too large."""
    text = content if isinstance(content, str) else decoded(content)
    if sum(map(text.count, ",[{")) > MAX_JSON_VALUES:
        raise CaptureError(f"{what} is refused: more than {MAX_JSON_VALUES} values")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"{what} is damaged: {error}") from error
