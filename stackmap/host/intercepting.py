"""Hosts in front of a host: one hands every answer to a recorder, one refuses what needs root, one remembers."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeVar

from stackmap.errors import SourceDenied, SourceError
from stackmap.host import Answer, Host, Json, Metadata, capture_format

T = TypeVar("T")

# The question, the path of its answer in a capture, and the answer.
RecordedAnswer = tuple[str, str | None, str | capture_format.Refusal]
LINK = "link "  # before the path in a question for a link

DEVICES = "/sys/block/"
# Parts of a device's directory that change without a uevent.
UNANNOUNCED = ("md/", "bcache/", "dm/suspended", "device/state", "pid", "backend")


class InterceptingHost:
    """Pass each question on to *host* and hand each answer, refusals included, to *record*."""

    def __init__(self, host: Host, record: Callable[[RecordedAnswer], None]) -> None:
        self._host = host
        self._record_answer = record

    def read(self, path: str) -> str:
        """Return the file's text."""
        return self._ask(f"read {path}", path, lambda: self._host.read(path), str)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        return self._ask(
            f"names_in {path}",
            f"{path}/{capture_format.LISTING}",
            lambda: self._host.names_in(path),
            lambda names: "".join(f"{name}\n" for name in names),
        )

    def link(self, path: str) -> str:
        """Return the link's target."""
        return self._ask(LINK + path, None, lambda: self._host.link(path), str)

    def start(self, *command: str) -> None:
        """Start *command* for a later ``run``, which is recorded."""
        self._host.start(*command)

    def run(self, *command: str) -> str:
        """Return the output of *command*."""
        question = "run " + " ".join(command)
        return self._ask(
            question, capture_format.command_file(command), lambda: self._host.run(*command), str
        )

    def udev(self, number: str) -> dict[str, str]:
        """Return udev's properties; recorded in udev's own format."""
        return self._ask(
            f"udev {number}",
            capture_format.udev_file(number),
            lambda: self._host.udev(number),
            lambda properties: "".join(
                f"E:{key}={value}\n" for key, value in sorted(properties.items())
            ),
        )

    def metadata(self, of: Metadata) -> list[dict[str, Json]]:
        """Return the records of libblockdev."""
        return self._ask(of, f"/{of}.json", lambda: self._host.metadata(of), as_json)

    def machine_id(self) -> str:
        """Return the salted hash."""
        return self._ask("machine-id", capture_format.MACHINE_ID_HASH, self._host.machine_id, str)

    def uevents(self) -> list[dict[str, str]]:
        """Return the events, unrecorded: ``RecordingHost`` keeps them per frame."""
        return self._host.uevents()

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask in the background, unrecorded."""
        return self._host.in_background(ask)

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Yield the host's instants."""
        return self._host.ticks(interval, count)

    def _ask(
        self, question: str, path: str | None, answer: Callable[[], T], text: Callable[[T], str]
    ) -> T:
        try:
            value = answer()
        except SourceError as error:
            self._record_answer((question, path, capture_format.refusal_of(error)))
            raise
        self._record_answer((question, path, text(value)))
        return value


class UnprivilegedHost(InterceptingHost):
    """
    Pass on what an ordinary user may ask of *host*, and refuse what needs root.

    Recording asks through it once more, so that a capture taken by root also has
    the files that are read without dmsetup.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host, lambda _: None)

    def in_background(self, ask: Callable[[Host], T]) -> Answer[T]:
        """Ask in the background, equally unprivileged."""
        return self._host.in_background(lambda host: ask(UnprivilegedHost(host)))

    def start(self, *command: str) -> None:
        """Do nothing: ``run`` refuses."""

    def run(self, *command: str) -> NoReturn:
        """Refuse: every command that stackmap runs needs root."""
        raise SourceDenied(f"{' '.join(command[:2])}: needs root")

    def metadata(self, of: Metadata) -> NoReturn:
        """Refuse: libblockdev needs root."""
        raise SourceDenied(f"libblockdev: needs root for {of}")


class KeptAnswers:
    """Answers about files, directories and links below ``/sys/block/NAME``, by NAME."""

    def __init__(self) -> None:
        self._by_folder: dict[str, dict[tuple[str, ...], Any]] = {}

    def of(self, folder: str) -> dict[tuple[str, ...], Any]:
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
        return self._remembered("read", path, self._host.read)

    def names_in(self, path: str) -> list[str]:
        """Return the directory's names."""
        return self._remembered("names_in", path, self._host.names_in)

    def link(self, path: str) -> str:
        """Return the link's target."""
        return self._remembered("link", path, self._host.link)

    def _remembered(self, method: str, path: str, ask: Callable[[str], T]) -> T:
        if not path.startswith(DEVICES):
            return ask(path)
        folder, _, inside = path[len(DEVICES) :].partition("/")
        if inside.startswith(UNANNOUNCED):
            return ask(path)
        answers, question = self._answers.of(folder), (method, inside)
        answer: T | None = answers.get(question)
        if answer is None:
            answers[question] = answer = ask(path)
        return answer


class RecordedBackgroundAnswer(Generic[T]):
    """A background *answer*; with its result, *record* gets the *answers* to its questions."""

    def __init__(
        self,
        answer: Answer[T],
        answers: list[RecordedAnswer],
        record: "Callable[[RecordedBackgroundAnswer[T], list[RecordedAnswer]], None]",
    ) -> None:
        self._answer = answer
        self._answers = answers
        self._record = record

    def ready(self, seconds: float) -> bool:
        """Wait up to *seconds* for it; return whether it is there."""
        return self._answer.ready(seconds)

    def result(self) -> T:
        """Return the result, and have its questions recorded."""
        try:
            return self._answer.result()
        finally:
            self._record(self, self._answers)


def as_json(value: object) -> str:
    """Return *value* as JSON text for a capture."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"
