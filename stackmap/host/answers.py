"""The newest answers of a log, put together only when they are asked for."""

from __future__ import annotations

from stackmap.errors import CaptureError
from stackmap.host.capture_format import Refusal, encoded, recorded_text
from stackmap.host.log import DAMAGES, Lines, patched, split_entries

MAX_WAITING = 64  # changes of an answer that wait; each has 7 KB for 60 busy devices


class Answers:
    """
    The newest answer to each question.

    Of a sample that is left out, little is decoded: mostly, the next one changes the same lines.
    """

    def __init__(self) -> None:
        self._known: dict[str, Lines | Refusal] = {}
        self._whole: dict[str, bytes] = {}  # newer than known, not decoded yet
        self._changes: dict[str, list[tuple[bytes, bytes]]] = {}  # newer than both: places, body
        self._where = ""  # the newest frame
        self._changed: set[str] | None = None  # since they were asked for; None: all

    def take(self, entries: bytes, where: str) -> dict[str, str]:
        """Bring the answers up to a frame; return what holds for that frame alone."""
        alone: dict[str, str] = {}
        self._where = where
        try:
            for kind, question, body in split_entries(entries):
                if self._changed is not None and kind != "+" and not self._is_known(question, body):
                    self._changed.add(question)
                if isinstance(body, Refusal):
                    self._forget(question)
                    self._known[question] = body
                elif kind == "+":
                    alone[question] = recorded_text(body, where)
                elif kind == "~":
                    self._change(question, body)
                else:
                    self._forget(question)
                    self._whole[question] = body
        except DAMAGES as error:
            raise CaptureError(f"{where}: damaged: {error!r}") from error
        return alone

    def get(self, question: str) -> Lines | Refusal | None:
        """Return the newest answer; ``CaptureError`` if it is damaged."""
        if question in self._whole or question in self._changes:
            try:
                self._put_together(question)
            except DAMAGES as error:
                raise CaptureError(f"{self._where}: damaged: {error!r}") from error
        return self._known.get(question)

    def changed(self) -> set[str] | None:
        """Return the questions with other answers than at the previous call; None: any, as at the first call."""
        changed, self._changed = self._changed, set()
        return changed

    def _is_known(self, question: str, body: bytes | Refusal) -> bool:
        """Whether the newest answer is a refusal or a whole answer that is there again."""
        if question in self._changes:
            return False
        if question in self._whole:
            return self._whole[question] == body
        known = self._known.get(question)
        return known == body if isinstance(body, Refusal) else _encoded(known) == body

    def _forget(self, question: str) -> None:
        self._whole.pop(question, None)
        self._changes.pop(question, None)

    def _change(self, question: str, body: bytes) -> None:
        """Keep changed lines; earlier ones of the same lines are forgotten."""
        if question not in self._known and question not in self._whole:
            raise KeyError(question)
        places = body[: body.find(b"\n")]
        changes = self._changes.setdefault(question, [])
        if changes and changes[-1][0] == places:
            changes[-1] = places, body
            return
        changes.append((places, body))
        if len(changes) > MAX_WAITING:
            self._put_together(question)

    def _put_together(self, question: str) -> None:
        if (whole := self._whole.pop(question, None)) is not None:
            self._known[question] = recorded_text(whole, self._where).split("\n")
        for _, body in self._changes.pop(question, ()):
            self._known[question] = patched(self._known[question], body, self._where)


def _encoded(answer: Lines | Refusal | None) -> bytes | None:
    return encoded("\n".join(answer)) if isinstance(answer, list) else None
