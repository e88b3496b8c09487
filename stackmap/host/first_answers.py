"""What a recording keeps of the questions before its first sample: one archive and a manifest."""

from __future__ import annotations

import io
import tarfile

from stackmap.host.capture_files import FORMAT
from stackmap.host.capture_format import Refusal, encoded
from stackmap.host.recorder import LINK, RecordedAnswer, as_json


class FirstAnswers:
    """The answers that came before the first sample."""

    def __init__(self) -> None:
        self._answers: dict[str, str | Refusal] = {}
        self._files: dict[str, bytes] = {}

    def add(self, kept: RecordedAnswer) -> None:
        """Keep an answer; an answer with a path becomes a file of the archive."""
        question, path, answer = kept
        if isinstance(answer, str) and path is not None:
            self._files[path] = encoded(answer)
        self._answers[question] = answer

    def get(self, question: str) -> str | Refusal | None:
        """Return the answer to *question*; None if it was not asked."""
        return self._answers.get(question)

    def manifest(self) -> bytes:
        """Return the manifest as JSON: the format, the refused questions, and where links lead."""
        refusals = {
            question: [answer.kind, answer.message]
            for question, answer in self._answers.items()
            if isinstance(answer, Refusal)
        }
        # Links are listed: /sys/block/sda is both a link and a directory of files here.
        links = {
            question.removeprefix(LINK): answer
            for question, answer in self._answers.items()
            if question.startswith(LINK) and isinstance(answer, str)
        }
        return encoded(as_json({"format": FORMAT, "refused": refusals, "links": links}))

    def archive(self) -> bytes:
        """
        Return a compressed tar of the files, named by their absolute paths.

        A host with 1,000 devices gives some 22,000 first answers; as files they took seconds to
        write and 4 KiB each.
        """
        buffer = io.BytesIO()
        # Level 1: mostly padding, and the host under investigation has other work.
        with tarfile.open(
            fileobj=buffer, mode="w:gz", compresslevel=1, format=tarfile.GNU_FORMAT
        ) as archive:
            for path, content in self._files.items():
                member = tarfile.TarInfo(path.lstrip("/"))
                member.size = len(content)
                member.mode = 0o600
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    def forget_files(self) -> None:
        """Forget the contents of the files, which are written."""
        self._files.clear()
