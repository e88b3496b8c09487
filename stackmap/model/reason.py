"""Sentences for people that carry their facts for programs: reasons, and changes of a state."""

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
        return self.code, str(self)


class StateChange(str):
    """
    A sentence about a device whose state changed, with the facts in it.

    ``device``: its name, ``identity``: see ``Device``. ``was`` and ``now``: its states, "" if unknown.
    """

    __slots__ = ("device", "identity", "now", "was")
    device: str
    identity: str
    was: str
    now: str

    def __new__(cls, title: str, device: str, identity: str, was: str, now: str) -> Self:
        """Return the sentence; *title*: the name of the device for people."""
        words = f"{title}: was {was or 'in an unknown state'}, now {now or 'unknown'}"
        change = super().__new__(cls, words)
        change.device, change.identity, change.was, change.now = device, identity, was, now
        return change

    def __getnewargs__(self) -> tuple[str, str, str, str, str]:  # type: ignore[override]  # those of __new__
        return self.partition(": was ")[0], self.device, self.identity, self.was, self.now


def code_of(reason: str | None) -> str | None:
    """Return the code of *reason*; None without a reason."""
    return reason.code if isinstance(reason, Reason) else None
