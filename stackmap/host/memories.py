"""Results that are remembered until an answer changes that they were made of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from stackmap.host import Host

T = TypeVar("T")


class Memories:
    """
    The remembered results of a replay.

    *changed*: the questions whose answers have changed since it was last called; None if any may have.
    """

    def __init__(self, changed: Callable[[], Collection[str] | None]) -> None:
        self._changed = changed
        self._kept: list[_Memory] = []
        self._noted: set[str] | None = None

    def note(self, question: str) -> None:
        """Note that *question* is asked, if the result of ``ask`` will be remembered."""
        if self._noted is not None:
            self._noted.add(question)

    def of(self, ask: Callable[[Host], T]) -> Callable[[Host], T]:
        """Return *ask*, which has its last result again while no answer changed that it asked for."""
        results: list[T] = []
        memory = _Memory()
        self._kept.append(memory)

        def again(host: Host) -> T:
            changed = self._changed()
            for each in self._kept:
                each.is_old = each.is_old or changed is None or not each.asked.isdisjoint(changed)
            if memory.is_old:
                results.clear()
                memory.asked.clear()
                self._noted = memory.asked
                try:
                    results.append(ask(host))
                finally:
                    self._noted = None
                memory.is_old = False
            return results[0]

        return again


class _Memory:
    """The questions that a remembered result is made of; ``is_old``: not so with the present answers."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.is_old = True
