"""What a disk says of its own wear, errors and heat."""

from __future__ import annotations

from typing import NamedTuple


class Health(NamedTuple):
    """
    The health of a disk since it was made; None for what it does not say.

    ``failing``: whether its own judgement is that it fails. ``used`` and ``spare``: shares of its rated life and of
    its spare blocks. ``media_errors``: reads and writes that it could not correct. ``pending`` and ``reallocated``:
    sectors. ``hot``: seconds above the temperature at which it warns. ``written``: bytes that hosts wrote.
    ``power_on``: seconds. ``temperature``: °C. ``unknown``: why nothing is known, "" if something is.
    """

    failing: bool | None = None
    used: float | None = None
    spare: float | None = None
    media_errors: int | None = None
    pending: int | None = None
    reallocated: int | None = None
    hot: int | None = None
    written: int | None = None
    power_on: int | None = None
    temperature: int | None = None
    unknown: str = ""
