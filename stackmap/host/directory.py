"""
Files that are written: in a directory held by its descriptor, safe from renamed and planted paths.

``OutputFile`` is the only writer of output files: a new regular file, complete or not there.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Self

from stackmap.errors import OutputRefused

MAX_LINKS = 40  # symbolic links in one path, as in the kernel
PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ROOT = 0

KINDS = {
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFSOCK: "a socket",
}
NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


class Directory:
    """An open directory at *path*. Names are relative to it, also with a leading slash."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._lock: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor, and give up the lock."""
        os.close(self._descriptor)
        if self._lock is not None:
            os.close(self._lock)

    def lock(self) -> bool:
        """Lock the directory until it is closed; return False if another process has locked it."""
        import fcntl  # only a recording pays for it

        self._lock = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._descriptor)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def names(self, folder: str) -> list[str]:
        """Return the names in *folder* below this one, [] if it does not exist."""
        try:
            place = os.open(folder.lstrip("/"), _READABLE, dir_fd=self._descriptor)
        except FileNotFoundError:
            return []
        try:
            return os.listdir(place)
        finally:
            os.close(place)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of *name* itself, also of a link; None if it does not exist."""
        try:
            return os.stat(name.lstrip("/"), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def make(self, name: str, path: str) -> "Directory":
        """Return the new directory *name*, known as *path*; ``FileExistsError`` if it exists."""
        os.mkdir(name, PRIVATE_DIRECTORY, dir_fd=self._descriptor)
        return Directory(path, os.open(name, _DIRECTORY, dir_fd=self._descriptor))

    def create(self, name: str) -> int:
        """Return the descriptor of the new file *name*; missing directories are made."""
        folder, _, last = name.rpartition("/")
        with self._below(folder) as place:
            return os.open(last, _NEW_FILE, PRIVATE_FILE, dir_fd=place)

    def write(self, name: str, content: bytes) -> None:
        """Write *content* to the file *name*; a file of that name is replaced."""
        with contextlib.suppress(FileNotFoundError):
            self.remove(name)
        with open(self.create(name), "wb") as file:
            file.write(content)

    def link(self, old: str, new: str) -> None:
        """Give the file *old* a second name; ``FileExistsError`` if *new* exists."""
        place = self._descriptor
        os.link(old, new, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)

    def rename(self, old: str, new: str) -> None:
        """Rename the file *old*; a file *new* is replaced."""
        place = self._descriptor
        os.rename(old.lstrip("/"), new.lstrip("/"), src_dir_fd=place, dst_dir_fd=place)

    def remove(self, name: str) -> None:
        """Remove the file *name*."""
        folder, _, last = name.rpartition("/")
        with self._below(folder) as place:
            os.unlink(last, dir_fd=place)

    def discard(self) -> None:
        """Remove the directory with what is in it, unless another took its place."""
        import shutil  # only a failed recording pays for it

        # By the descriptor: what another puts at the path meanwhile keeps its content.
        shutil.rmtree(".", ignore_errors=True, dir_fd=self._descriptor)
        if self.is_at_its_path():
            with contextlib.suppress(OSError):
                os.rmdir(self.path)

    def sync(self) -> None:
        """Write the names to disk, where the file system can do so."""
        with contextlib.suppress(OSError):
            reading = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._descriptor)
            try:
                os.fsync(reading)
            finally:
                os.close(reading)

    def is_at_its_path(self) -> bool:
        """Whether the path still leads here; False if the directory was removed, moved or replaced."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._descriptor))
        except OSError:
            return False

    def is_removed(self) -> bool:
        """Whether the directory was removed, with all that was in it."""
        return os.fstat(self._descriptor).st_nlink == 0

    @contextlib.contextmanager
    def _below(self, folder: str) -> Iterator[int]:
        """Open the directory *folder* below this one, made if missing; no link is followed."""
        if ".." in folder.split("/"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), folder)
        place = os.dup(self._descriptor)
        try:
            for name in filter(None, folder.split("/")):
                place = _entered(place, name, make=True)
            yield place
        finally:
            os.close(place)


def open_directory(path: str, *, make: bool = False) -> Directory:
    """
    Return the directory at *path*; with *make*, missing ones are made, for this user only.

    ``OutputRefused`` if a symbolic link on the way belongs to another user.
    """
    place = os.open("/" if path.startswith("/") else ".", _DIRECTORY)
    names = path.split("/")[::-1]  # the next one last
    links = 0
    try:
        while names:
            name = names.pop()
            target = _link(place, name, path) if name else None
            if target is not None and links < MAX_LINKS:
                links += 1
                names += target.split("/")[::-1]
                if target.startswith("/"):
                    place = _entered(place, "/", make=False)
            elif name:
                place = _entered(place, name, make=make)
    except BaseException:
        os.close(place)
        raise
    return Directory(path, place)


def make_directory(path: str) -> Directory:
    """Return the new directory *path*, for this user only; ``OutputRefused`` if it exists."""
    folder, name = os.path.split(path.rstrip("/") or path)
    with open_directory(folder, make=True) as parent:
        try:
            return parent.make(name or ".", path)
        except FileExistsError:
            raise OutputRefused(f"{path}: exists; give a new directory") from None


def _entered(place: int, name: str, *, make: bool) -> int:
    """Return the directory *name* below *place*, which is closed; no link is followed."""
    try:
        below = os.open(name, _DIRECTORY, dir_fd=place)
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, PRIVATE_DIRECTORY, dir_fd=place)
        below = os.open(name, _DIRECTORY, dir_fd=place)
    os.close(place)
    return below


def _link(place: int, name: str, path: str) -> str | None:
    """Return where the link *name* leads, None if it is no link; refused if another user made it."""
    try:
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if status.st_uid not in (ROOT, os.geteuid()):
        raise OutputRefused(f"{path}: {name} is a symbolic link of another user; give another path")
    return os.readlink(name, dir_fd=place)


class OutputFile:
    """
    The file to write at *path*; ``OutputRefused`` if something is there that must not be replaced.

    *force*: replace a regular file. *mode*: permissions; the umask is ignored.
    """

    def __init__(self, path: str, *, force: bool = False, mode: int = PRIVATE_FILE) -> None:
        self.path = path
        self._force = force
        self._mode = mode
        folder, self._name = os.path.split(path)
        if self._name in ("", ".", ".."):
            raise OutputRefused(f"{path}: is a directory; give a file")
        self._folder = folder
        with self._errors(), open_directory(folder) as directory:
            self._check(directory)

    @contextlib.contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Yield the file; it gets its name if this ends without an error, otherwise nothing remains."""
        new = f".stackmap-{os.urandom(8).hex()}.new"
        with self._errors(of_others=True), open_directory(self._folder) as directory:
            with self._errors():
                descriptor = directory.create(new)
            try:
                with open(descriptor, "wb") as file:
                    yield file
                    with self._errors():
                        file.flush()
                        os.fchmod(descriptor, self._mode)
                        os.fsync(descriptor)
                        self._give_name(directory, new, descriptor)
                directory.sync()
            finally:
                with contextlib.suppress(OSError):  # it has its name now, or an error is on its way
                    directory.remove(new)

    def _check(self, directory: Directory) -> None:
        status = directory.status(self._name)
        if status is None:
            return
        kind = KINDS.get(stat.S_IFMT(status.st_mode))
        if kind is not None:
            raise OutputRefused(f"{self.path}: is {kind}; give a file")
        if not self._force:
            raise OutputRefused(f"{self.path}: exists; use --force to overwrite it")

    def _give_name(self, directory: Directory, new: str, descriptor: int) -> None:
        """Name the complete file; what appeared there since the first check is judged again."""
        self._check(directory)
        try:
            if self._force:
                directory.rename(new, self._name)
            else:
                directory.link(new, self._name)
        except FileExistsError:
            self._check(directory)
            raise
        except OSError as error:
            if self._force or error.errno not in NO_HARD_LINKS:
                raise
            directory.rename(new, self._name)
        written = directory.status(self._name)
        if written is None or not os.path.samestat(written, os.fstat(descriptor)):
            raise OutputRefused(f"{self.path}: was replaced by another process; give another path")

    @contextlib.contextmanager
    def _errors(self, *, of_others: bool = False) -> Iterator[None]:
        """Name this file in errors of the system; *of_others*: other files keep their names."""
        try:
            yield
        except OSError as error:
            if error.filename is None or not of_others:
                error.filename, error.filename2 = self.path, None
            raise
