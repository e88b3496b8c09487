"""
A host that remembers answers until one of the devices that they describe changes.

They are those about each device's directory in sysfs, and the reports of LVM and md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from stackmap.host import Host, Json
from stackmap.host.recorder import InterceptingHost

T = TypeVar("T", str, "list[str]")
R = TypeVar("R", str, "Records")
Records = list[dict[str, "Json"]]

DEVICES = "/sys/block/"
# Parts of a device's directory that change without a uevent.
UNANNOUNCED = ("md/", "bcache/", "dm/suspended", "device/state", "pid", "backend")


class KeptAnswers:
    """
    Answers about files, directories and links below ``/sys/block/NAME``, by NAME.

    ``metadata``: the answers of LVM and md, by question.
    """

    def __init__(self) -> None:
        self._by_folder: dict[str, dict[tuple[str, str], str | list[str]]] = {}
        self.metadata: dict[tuple[str, ...], str | Records] = {}

    def of(self, folder: str) -> dict[tuple[str, str], str | list[str]]:
        """Return the answers about *folder*: by method of ``Host`` and path below it."""
        return self._by_folder.setdefault(folder, {})

    def has(self, path: str) -> bool:
        """Whether answers about the directory *path* of a device are kept; a partition's are its disk's."""
        return path[len(DEVICES) :].partition("/")[0] in self._by_folder

    def forget(self, names: Iterable[str]) -> None:
        """Forget the answers about the devices *names*; with a partition, those about its whole disk."""
        for name in names:
            folder = name.replace("/", "!")
            for end in range(1, len(folder) + 1):
                self._by_folder.pop(folder[:end], None)


class RememberingHost(InterceptingHost):
    """Passes on only questions that *answers* has no answer to; refused ones are asked again."""

    def __init__(self, host: Host, answers: KeptAnswers) -> None:
        super().__init__(host, lambda _: None)
        self._answers = answers

    def read(self, path: str) -> str:
        """Return the file's text."""
        return self._kept("read", path, self._host.read)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        return self._kept("names_in", path, self._host.names_in)

    def link(self, path: str) -> str:
        """Return the link's target."""
        return self._kept("link", path, self._host.link)

    def run(self, *command: str) -> str:
        """Return the command's output; device-mapper is asked each time."""
        if command[0] != "lvm":
            return self._host.run(*command)
        return self._metadata(command, lambda: self._host.run(*command))

    def volumes(self) -> Records:
        """Return LVM's LVs."""
        return self._metadata(("volumes",), self._host.volumes)

    def arrays(self) -> Records:
        """Return md's arrays."""
        return self._metadata(("arrays",), self._host.arrays)

    def _metadata(self, question: tuple[str, ...], ask: Callable[[], R]) -> R:
        answer = self._answers.metadata.get(question)
        if answer is None:
            self._answers.metadata[question] = answer = ask()
        return answer  # type: ignore[return-value]  # the question decides on the type

    def _kept(self, method: str, path: str, ask: Callable[[str], T]) -> T:
        if not path.startswith(DEVICES):
            return ask(path)
        folder, _, inside = path[len(DEVICES) :].partition("/")
        if inside.startswith(UNANNOUNCED):
            return ask(path)
        answers = self._answers.of(folder)
        answer = answers.get((method, inside))
        if answer is None:
            answers[method, inside] = answer = ask(path)
        return answer  # type: ignore[return-value]  # the method decides on the type
