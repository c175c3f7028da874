"""Gives the advice of a strategy about one open file, and records what became of it."""

from __future__ import annotations

import errno
import mmap
import os

from pysort.storage.hints import AHEAD, BEHIND, MEBI, OPEN, READ, HintResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.handle import Handle
    from pysort.storage.hints import Hint, Strategy
    from pysort.storage.iostats import IoStats

AHEAD_BYTES = 8 * MEBI  # as far as Linux reads ahead by itself on a fast disk
NO_END = 1 << 62


class Advisor:
    """The hints about one file that is read from somewhere on, without going back.

    A hint that the system refuses is not given again. read_flags: what preadv2 is to be called with; whoever does so
    tells what became of it by read_answered(). Residency is recorded only where stats asks for it: each look costs
    some 7 us for each MiB, and the first one 5 ms for ctypes.
    """

    __slots__ = ("_ahead", "_ahead_bytes", "_behind", "_dropped", "_handle", "_kept", "_open",
        "_size", "_stats", "_told",
                 "_wanted", "read_flags")  # fmt: skip

    def __init__(self, handle: Handle, strategy: Strategy, stats: IoStats, *, ahead_bytes: int = AHEAD_BYTES) -> None:
        """ahead_bytes: how far behind the end of a read is asked for; 0: once more the length of the read."""
        self._handle = handle
        self._stats = stats
        self._open = strategy.at(OPEN)
        self._ahead = strategy.at(AHEAD)
        self._behind = strategy.at(BEHIND)
        self._ahead_bytes = ahead_bytes
        self.read_flags = sum(hint.op for hint in strategy.at(READ) if isinstance(hint.op, int))
        self._told = not self.read_flags
        self._kept: list[tuple[int, int]] = []  # what others had in the page cache, in order
        self._size = NO_END
        self._wanted = 0  # what lies before it has been asked for
        self._dropped = 0  # what lies before it has been dropped, or is to stay

    def open(self, size: int = 0) -> None:
        """Before the first read. size: of a regular file that is not ours: what of it is in the page cache now will not
        be dropped. Raises OSError only for EBADF, which is a bug of the caller's, as everything here does."""
        self._size = size or NO_END
        if self._behind and size:
            from pysort.storage.cache import resident_ranges

            kept = resident_ranges(self._handle.fd, 0, size + -size % mmap.PAGESIZE)
            if kept is None:
                self._stats.count_hints([HintResult(hint.name, errno.ENOSYS) for hint in self._behind])
                self._behind = []
            else:
                self._kept = kept
        for hint in self._open:
            self._give(hint, 0, 0)

    def start(self, offset: int) -> None:
        """Reading starts there."""
        self._wanted = offset
        self._dropped = offset + -offset % mmap.PAGESIZE

    def ahead(self, offset: int, n: int, stop: int = NO_END) -> None:
        """Bytes offset..offset+n-1 are about to be read, and in the end those up to stop."""
        stop = min(stop, self._size)
        wanted = min(offset + n + (self._ahead_bytes or n), stop)
        for hint in self._ahead:
            self._wanted = max(self._wanted, offset)
            while self._wanted < wanted:
                length = min(hint.chunk, stop - self._wanted)
                if self._give(hint, self._wanted, length):
                    self._ahead = []
                    return
                self._wanted += length

    def behind(self, offset: int, *, at_end: bool = False) -> None:
        """What lies before offset has been read and is not mapped any more. at_end: nothing else will be read."""
        for hint in self._behind:
            stop = offset + -offset % mmap.PAGESIZE if at_end else offset - offset % hint.chunk
            if stop > self._dropped:
                self._drop(hint, stop)

    def _drop(self, hint: Hint, stop: int) -> None:
        """Drop what lies before stop, a page's beginning, but for what is kept."""
        start, self._dropped = self._dropped, stop
        for kept_start, kept_stop in [*self._kept, (stop, stop)]:
            end = min(kept_start, stop)
            if start < end and self._give(hint, start, end - start):
                self._behind = []
                return
            start = max(start, kept_stop)
        self._kept = [kept for kept in self._kept if kept[1] > stop]

    def read_answered(self, error: int) -> None:
        """A read with read_flags was taken (0) or refused."""
        if not self._told:
            self._told = True
            self._stats.count_hints([HintResult("dontcache", error)])
        if error:
            self.read_flags = 0

    def _give(self, hint: Hint, offset: int, length: int) -> int:
        """Returns the errno. length 0: the whole file."""
        stats = self._stats
        fd = self._handle.fd
        page = offset - offset % mmap.PAGESIZE
        span = length and offset + length - page
        before = _resident_bytes(fd, page, span) if stats.residency else None
        started = stats.start()
        error = advise(fd, str(hint.op), offset, length)
        ns = stats.start() - started
        after = _resident_bytes(fd, page, span) if stats.residency else None
        stats.count_hints([HintResult(hint.name, error, ns, before, after)])
        return error


def advise(fd: int, op: str, offset: int, length: int) -> int:
    """posix_fadvise with the advice of that name. Returns 0 or an errno; raises OSError for EBADF."""
    # posix_fadvise is missing on macOS.
    if not hasattr(os, "posix_fadvise") or not hasattr(os, op):
        return errno.ENOSYS
    try:
        os.posix_fadvise(fd, offset, length, getattr(os, op))
    except OSError as error:
        if error.errno == errno.EBADF:
            raise
        return error.errno or errno.EINVAL
    return 0


def _resident_bytes(fd: int, offset: int, length: int) -> int | None:
    from pysort.storage.cache import resident_bytes

    return resident_bytes(fd, offset, length)
