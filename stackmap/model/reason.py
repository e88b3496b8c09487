"""Why a figure is unknown: a sentence for people, and beside it a code for programs."""

from __future__ import annotations

from typing import Self


class Reason(str):
    """
    A sentence with its ``code``, which stays when the sentence is reworded.

    >>> Reason("idle", "no device had I/O"), Reason("idle", "no device had I/O").code
    ('no device had I/O', 'idle')
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> Self:
        """Return *sentence* with its *code*."""
        reason = super().__new__(cls, sentence)
        reason.code = code
        return reason

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # those of __new__
        """Return what a copy is made of."""
        return self.code, str(self)


def reason_json(reason: str) -> dict[str, str | None]:
    """Return the keys of a reason in JSON; null for "", a reason that is not given."""
    return {"reason": reason or None, "reason_code": getattr(reason, "code", None)}
