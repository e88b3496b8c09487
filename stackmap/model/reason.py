"""Reasons in words for people, each with a code for programs."""

from __future__ import annotations

from typing import Self


class Reason(str):
    """
    A reason in words.

    ``code``: what programs read instead, such as "shared"; it stays when the words change.
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, words: str) -> Self:
        """Return *words* with their *code*."""
        reason = super().__new__(cls, words)
        reason.code = code
        return reason

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # those of __new__
        """Return what a copy is made of."""
        return self.code, str(self)


def code_of(reason: str | None) -> str | None:
    """Return the code of *reason*; None without a reason."""
    return reason.code if isinstance(reason, Reason) else None
