"""A file without a name, for what is too much to hold until it is wanted."""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import BinaryIO, Self, cast


class Spill:
    """Lies in *folder*, the system's for such files if that is None; is made when something is put there."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def put(self, content: bytes) -> int:
        """Keep *content*, and return its place."""
        if self._file is None:
            self._file = cast("BinaryIO", TemporaryFile(dir=self._folder))  # noqa: SIM115 - we are one
        place = self._file.seek(0, 2)
        self._file.write(content)
        return place

    def get(self, place: int, size: int) -> bytes:
        """Return *size* bytes from *place* on, where they were put."""
        if self._file is None:
            return b""
        self._file.seek(place)
        return self._file.read(size)
