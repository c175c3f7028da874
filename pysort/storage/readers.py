"""The input side: files, standard input, pipes and devices behind one protocol.

open_input looks at the file, gives the advice and returns one of two readers. Both fill the caller's buffer:

    FileReader    regular files, at a position of its own, by pread, mmap or direct I/O (positional.py)
    StreamReader  standard input, and everything that is not a regular file or says it is empty: errors such as EISDIR
                  come from a real read

st_size only chooses the reader and sizes buffers: a file in /proc says 0 and has content, others grow or shrink while
they are read. The end is where a read returns nothing. Only a file that is cut short while a part of it that is gone is
mapped ends in an error: what had been there can not be told from zeros.
"""

from __future__ import annotations

import errno
import os
import stat

from pysort.errors import SortError, file_error, shell_name
from pysort.storage.advice import Advisor
from pysort.storage.handle import Handle
from pysort.storage.hints import Strategy
from pysort.storage.opening import open_positional
from pysort.storage.positional import REFUSALS, CutShort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysort.storage.access import Access
    from pysort.storage.iostats import IoStats
    from pysort.storage.positional import Pread

STDIN = b"-"
CURRENT = -1  # as an offset of preadv2: where the descriptor stands


class InputReader:
    """What the readers share. `name` is the operand, for messages. The reader owns the handle. Any thread may read, but
    no two at a time."""

    __slots__ = ("_handle", "_stats", "name")

    is_stream = False  # it may wait for somebody who writes

    def __init__(self, name: bytes, handle: Handle, stats: IoStats) -> None:
        self.name = name
        self._handle = handle
        self._stats = stats

    def readinto(self, view: memoryview) -> int:
        """Fill the front of view, which is not empty, with the next bytes: as many as one system call brings. Returns
        their number, 0 at the end. Raises SortError `read failed: NAME: ...`."""
        try:
            return self._read(view)
        except OSError as error:
            raise file_error(b"read failed", self.name, error) from error
        except CutShort as error:
            reason = b": cut short while it was mapped"
            raise SortError(b"read failed: ", shell_name(self.name), reason, filename=self.name) from error

    def _read(self, view: memoryview) -> int:
        """Reads and counts it."""
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

    def abandon(self) -> None:
        """close(), where it does not matter any more whether that fails."""
        try:
            self.close()
        except SortError:
            pass

    def __enter__(self) -> InputReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class StreamReader(InputReader):
    """Reads at the descriptor's position, which standard input shares with its other users: it begins where they left
    it, they go on where it ended, and `- -` reads nothing twice."""

    __slots__ = ("_advisor", "_at")

    is_stream = True

    def __init__(self, name: bytes, handle: Handle, stats: IoStats, advisor: Advisor) -> None:
        super().__init__(name, handle, stats)
        self._advisor = advisor
        try:
            self._at = self._position()
        except OSError:
            self._at = 0  # a pipe, or closed
        advisor.start(self._at)

    def _read(self, view: memoryview) -> int:
        self._advisor.ahead(self._at, len(view))
        started = self._stats.start()
        n = self._readv(view)
        self._stats.count_read(n, started)
        self._at += n
        self._advisor.behind(self._at)
        return n

    def _readv(self, view: memoryview) -> int:
        flags = self._advisor.read_flags
        if flags:
            try:
                n = os.preadv(self._handle.fd, [view], CURRENT, flags)
            except (OSError, NotImplementedError) as error:
                number = error.errno if isinstance(error, OSError) else errno.ENOSYS
                if number not in REFUSALS:
                    raise
                self._advisor.read_answered(number)
            else:
                self._advisor.read_answered(0)
                return n
        return os.readv(self._handle.fd, [view])

    def close(self) -> None:
        if self._at:
            self._advisor.behind(self._at, at_end=True)
        super().close()


class FileReader(InputReader):
    """Reads at a position of its own."""

    __slots__ = ("_at", "_positional", "_read_bytes")

    def __init__(self, name: bytes, handle: Handle, stats: IoStats, positional: Pread, read_bytes: int | None) -> None:
        super().__init__(name, handle, stats)
        self._read_bytes = read_bytes
        self._positional = positional
        self._at = 0

    def _read(self, view: memoryview) -> int:
        n = self._positional.read(self._at, view[: self._read_bytes])
        self._at += n
        return n

    def _position(self) -> int:
        return self._at

    def close(self) -> None:
        if not self._handle.closed:
            self._positional.close(self._at)
        super().close()


class PositionReader(FileReader):
    """Reads a regular file where the descriptor stands, and leaves it where reading ended: standard input, when several
    threads read it."""

    __slots__ = ()

    def _read(self, view: memoryview) -> int:
        self._at = os.lseek(self._handle.fd, 0, os.SEEK_CUR)
        n = super()._read(view)
        os.lseek(self._handle.fd, self._at, os.SEEK_SET)
        return n

    def _position(self) -> int:
        return os.lseek(self._handle.fd, 0, os.SEEK_CUR)


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


def open_input(name: bytes, access: Access, stats: IoStats, readers_n: int = 1) -> InputReader:
    """Open an operand (b"-": standard input), give the advice, and choose the reader, one of readers_n. Raises
    SortError `open failed: NAME: ...`; a closed standard input shows at its first use."""
    handle = Handle(0, owned=False) if name == STDIN else open_file(name)
    try:
        return _reader(name, handle, access, stats, readers_n)
    except BaseException as error:
        handle.abandon()
        if isinstance(error, OSError):
            raise file_error(b"open failed", name, error) from error
        raise


def _reader(name: bytes, handle: Handle, access: Access, stats: IoStats, readers_n: int) -> InputReader:
    try:
        status = os.fstat(handle.fd)
    except OSError:
        return StreamReader(name, handle, stats, Advisor(handle, Strategy("none"), stats))
    advisor = Advisor(handle, access.strategy, stats)
    is_regular = stat.S_ISREG(status.st_mode)
    advisor.open(status.st_size if is_regular else 0)
    has_pieces = is_regular and status.st_size > 0
    if has_pieces and access.threads_n > 1 and access.kind == "pread":
        from pysort.storage.parallel import ParallelPread

        if name == STDIN:
            advisor.start(os.lseek(handle.fd, 0, os.SEEK_CUR))
        parallel = ParallelPread(handle, stats, advisor, access.threads_n)
        kind = PositionReader if name == STDIN else FileReader
        return kind(name, handle, stats, parallel, access.read_bytes)
    if name == STDIN or not has_pieces:
        return StreamReader(name, handle, stats, advisor)
    positional = open_positional(handle, access.kind, access, stats, advisor, readers_n, foreign=True)
    return FileReader(name, handle, stats, positional, access.read_bytes)


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
