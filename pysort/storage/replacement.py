"""A file that takes the place of another one when it is complete, and not before.

It is written beside that one, without a name where the file system knows such files: then nothing is left behind even
after SIGKILL. It gets a name for the moment before it is renamed. Where files must have names it has one from the
start, and whoever ends the process has to call discard_all().
"""

from __future__ import annotations

import errno
import os

from pysort.errors import file_error
from pysort.storage.handle import Handle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Made = TypeVar("Made")

NAME_TRIES_N = 100

_names: set[bytes] = set()  # of files that have not taken their place yet


class Replacement:
    """handle: what to write to."""

    __slots__ = ("_file", "_name", "_path", "handle")

    def __init__(self, file: bytes, old: os.stat_result | None) -> None:
        """file: the name; symbolic links are followed. old: of the regular file that is there, whose mode and owner the
        new one gets. Raises SortError `open failed: FILE: ...` or `cannot keep mode and owner: FILE: ...`."""
        self._file = file
        self._path = os.path.realpath(file)
        self._name = b""
        try:
            self.handle = self._open(0o666 if old is None else 0o600)
        except OSError as error:
            raise file_error(b"open failed", file, error) from error
        try:
            if old is not None:
                _take_after(self.handle.fd, old)
        except OSError as error:
            self.discard()
            raise file_error(b"cannot keep mode and owner", file, error) from error

    def _open(self, mode: int) -> Handle:
        directory = os.path.dirname(self._path)
        if hasattr(os, "O_TMPFILE") and os.path.isdir(b"/proc/self/fd"):
            try:
                return Handle.open(directory, os.O_WRONLY | os.O_TMPFILE, mode)
            except OSError:
                pass  # the other way works, or tells the reason
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        return self._give_name(lambda name: Handle.open(name, flags, mode))

    def _give_name(self, create: Callable[[bytes], Made]) -> Made:
        """What `create` returns for a name that nobody has. Raises OSError."""
        for _ in range(NAME_TRIES_N):
            name = os.path.dirname(self._path) + b"/.pysort" + os.urandom(8).hex().encode()
            try:
                made = create(name)
            except FileExistsError:
                continue
            self._name = name
            _names.add(name)
            return made
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def commit(self) -> None:
        """What has been written is on the disk and takes the place. Raises SortError `sync failed: FILE: ...` or
        `rename failed: FILE: ...`."""
        fd = self.handle.fd
        try:
            os.fsync(fd)
        except OSError as error:
            raise file_error(b"sync failed", self._file, error) from error
        try:
            if not self._name:
                source = b"/proc/self/fd/%d" % fd
                # Without a directory's descriptor, which an absolute path does not use, CPython calls link(2), and that
                # does not follow the link in /proc.
                self._give_name(lambda name: os.link(source, name, src_dir_fd=fd, follow_symlinks=True))
            os.rename(self._name, self._path)
        except OSError as error:
            raise file_error(b"rename failed", self._file, error) from error
        _names.discard(self._name)
        self._name = b""
        self.handle.abandon()
        try:
            _sync_directory(os.path.dirname(self._path))
        except OSError as error:
            raise file_error(b"sync failed", self._file, error) from error

    def discard(self) -> None:
        """Leave the old file as it is. Nothing happens after commit()."""
        self.handle.abandon()
        if self._name:
            _remove(self._name)
            self._name = b""


def discard_all() -> None:
    """For the end of the process: no file is left that has a name and not taken its place."""
    for name in tuple(_names):
        _remove(name)


def _remove(name: bytes) -> None:
    _names.discard(name)
    try:
        os.unlink(name)
    except OSError:
        pass


def _take_after(fd: int, old: os.stat_result) -> None:
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, old.st_mode & 0o7777)  # afterwards: a new owner costs the set-user-ID bit


def _sync_directory(path: bytes) -> None:
    try:
        directory = Handle.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # one may write there and not look
        return
    try:
        os.fsync(directory.fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that has no such thing
            raise
    finally:
        directory.abandon()
