"""The input side: files, standard input, pipes and devices behind one protocol.

open_input looks at the file, gives the advice and returns one of three readers. Every reader fills
the caller's buffer:

    PreadReader   regular files, at a position of its own
    MmapReader    regular files on request, copied out of bounded windows of a mapping
    StreamReader  standard input, and everything that is not a regular file or says it is empty:
                  errors such as EISDIR come from a real read

st_size only chooses the reader and sizes buffers: a file in /proc says 0 and has content, others
grow or shrink while they are read. The end is where a read returns nothing.
"""

from __future__ import annotations

import errno
import os
import stat

from pysort.errors import file_error
from pysort.storage import hints
from pysort.storage.handle import Handle
from pysort.storage.window import WINDOW_BYTES, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysort.storage.iostats import IoStats

STDIN = b"-"


class InputReader:
    """What the readers share. `name` is the operand, for messages. The reader owns the handle."""

    __slots__ = ("_handle", "_stats", "name")

    def __init__(self, name: bytes, handle: Handle, stats: IoStats) -> None:
        self.name = name
        self._handle = handle
        self._stats = stats

    def readinto(self, view: memoryview) -> int:
        """Fill the front of view, which is not empty, with the next bytes: as many as one system
        call brings. Returns their number, 0 at the end. Raises SortError `read failed: NAME: ...`.
        """
        started = self._stats.start()
        try:
            n = self._read(view)
        except OSError as error:
            raise file_error(b"read failed", self.name, error) from error
        self._stats.count_read(n, started)
        return n

    def _read(self, view: memoryview) -> int:
        raise NotImplementedError

    def size_hint(self) -> int | None:
        """Bytes still to come as far as the file's size tells; None for everything but a regular
        file that is not empty. Raises SortError `stat failed: NAME: ...`, which is how GNU sort
        finds that standard input is closed."""
        try:
            status = os.fstat(self._handle.fd)
        except OSError as error:
            raise file_error(b"stat failed", self.name, error) from error
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        return max(0, status.st_size - self._position())

    def _position(self) -> int:
        return os.lseek(self._handle.fd, 0, os.SEEK_CUR)

    def close(self) -> None:
        """Standard input stays open."""
        try:
            self._handle.close()
        except OSError as error:
            raise file_error(b"close failed", self.name, error) from error

    def __enter__(self) -> InputReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamReader(InputReader):
    """Reads at the descriptor's position, which standard input shares with its other users: it
    begins where they left it, they go on where it ended, and `- -` reads nothing twice."""

    __slots__ = ()

    def _read(self, view: memoryview) -> int:
        return os.readv(self._handle.fd, [view])


class PreadReader(InputReader):
    """Reads at a position of its own."""

    __slots__ = ("_at",)

    def __init__(self, name: bytes, handle: Handle, stats: IoStats) -> None:
        super().__init__(name, handle, stats)
        self._at = 0

    def _read(self, view: memoryview) -> int:
        n = os.preadv(self._handle.fd, [view], self._at)
        self._at += n
        return n

    def _position(self) -> int:
        return self._at


class MmapReader(PreadReader):
    """Copies from windows of at most window_bytes. Where there is nothing to map (the end, a file
    that cannot be mapped) it reads as PreadReader does, so a file that grows is read to its new
    end.

    The size is compared before each copy: a file that shrank ends where it now ends. One that is
    cut short between that look and the copy still ends the process with SIGBUS; nothing guards
    against that yet.
    """

    __slots__ = ("_window", "_window_bytes")

    def __init__(self, name: bytes, handle: Handle, stats: IoStats, window_bytes: int) -> None:
        super().__init__(name, handle, stats)
        self._window: Window | None = None
        self._window_bytes = window_bytes

    def _read(self, view: memoryview) -> int:
        size = os.fstat(self._handle.fd).st_size
        window = self._window_at(size) if self._at < size else None
        if window is None:
            return super()._read(view)
        n = min(len(view), window.stop - self._at, size - self._at)
        window.copy(self._at, view[:n])
        self._at += n
        if self._at == window.stop:
            self._unmap()
        return n

    def _window_at(self, size: int) -> Window | None:
        if self._window is None:
            stop = min(size, self._at + self._window_bytes)
            try:
                self._window = Window(self._handle.fd, self._at, stop)
            except (OSError, ValueError):  # cannot be mapped, or shrank just now
                return None
        return self._window

    def _unmap(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def close(self) -> None:
        self._unmap()
        super().close()


class LineReader:
    """An input of complete lines: a separator that the last one lacks is supplied. The end is looked for once only: at
    a terminal everybody would have to say it again. `ended`: nothing follows."""

    __slots__ = ("_last", "_reader", "_separator", "ended")

    def __init__(self, reader: InputReader, separator: int) -> None:
        self._reader = reader
        self._separator = separator
        self._last = separator  # the byte read last
        self.ended = False

    def readinto(self, view: memoryview) -> int:
        """As InputReader's."""
        if self.ended:
            return 0
        n = self._reader.readinto(view)
        if n:
            self._last = view[n - 1]
            return n
        self.ended = True
        if self._last == self._separator:
            return 0
        view[0] = self._separator
        return 1

    def close(self) -> None:
        self._reader.close()


def open_file(name: bytes) -> Handle:
    """Open it for reading. Raises SortError `open failed: NAME: ...`."""
    try:
        return Handle.open(name, os.O_RDONLY)
    except OSError as error:
        raise file_error(b"open failed", name, error) from error


def open_input(
    name: bytes,
    strategy: hints.Strategy,
    kind: str,
    stats: IoStats,
    *,
    window_bytes: int = WINDOW_BYTES,
) -> InputReader:
    """Open an operand (b"-": standard input), give the advice, and choose the reader. kind: "pread"
    or "mmap", for regular files. Raises SortError `open failed: NAME: ...`; a closed standard input
    shows at its first use."""
    handle = Handle(0, owned=False) if name == STDIN else open_file(name)
    try:
        status = os.fstat(handle.fd)
    except OSError:
        return StreamReader(name, handle, stats)
    stats.count_hints(hints.apply(strategy, "open", handle.fd))
    if name == STDIN or not stat.S_ISREG(status.st_mode) or not status.st_size:
        return StreamReader(name, handle, stats)
    if kind == "mmap":
        return MmapReader(name, handle, stats, window_bytes)
    return PreadReader(name, handle, stats)


def check_readable(names: Iterable[bytes]) -> None:
    """Raise SortError `cannot read: NAME: ...` for the first operand that the effective user may
    not read. A FIFO is not opened for it: somebody waits for its one and only reader."""
    effective = os.access in os.supports_effective_ids
    for name in names:
        if name == STDIN or os.access(name, os.R_OK, effective_ids=effective):
            continue
        # os.access keeps the errno to itself: what stops stat is the reason, else the file's own
        # permissions are.
        try:
            os.stat(name)
        except OSError as error:
            raise file_error(b"cannot read", name, error) from error
        raise file_error(b"cannot read", name, OSError(errno.EACCES, os.strerror(errno.EACCES)))


def input_bytes(names: Sequence[bytes]) -> int | None:
    """What there is to read, None when an input does not tell (pipes, devices, files of size 0 as in /proc)."""
    total = 0
    for name in names:
        try:
            status = os.fstat(0) if name == STDIN else os.stat(name)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        total += status.st_size + 1  # a missing separator
    return total
