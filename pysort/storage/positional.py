"""Reading an open file at any position: with pread, and by mapped.py and direct.py.

Each kind falls back to pread where the system refuses it, and notes the reason. Hints are given around each read.
"""

from __future__ import annotations

import errno
import os

from pysort.storage.advice import NO_END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.advice import Advisor
    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats

ALIGN_BYTES = 4096  # of positions, lengths and memory in direct I/O
# What a flag of preadv2 is refused with: by file systems, by kernels that do not know it, by old C libraries.
REFUSALS = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)


class CutShort(Exception):
    """A mapped part of a file is not there any more."""


class Pread:
    """Reads with preadv; what all kinds share, and fall back to."""

    __slots__ = ("_advisor", "_handle", "_stats", "_tells_hits")

    def __init__(self, handle: Handle, stats: IoStats, advisor: Advisor) -> None:
        self._handle = handle
        self._stats = stats
        self._advisor = advisor
        self._tells_hits = stats.count_hits

    def read(self, offset: int, view: memoryview, stop: int = NO_END) -> int:
        """Fill the front of view, which is not empty, with the bytes from offset on: as many as one call brings, 0 at
        the end of the file. Offsets never go back. stop: nothing from there on will be read. Raises OSError, CutShort.
        """
        self._advisor.ahead(offset, len(view), stop)
        started = self._stats.start()
        n, hit_n = self._read(offset, view, stop)
        self._stats.count_read(n, started, hit_n)
        self._advisor.behind(self.held_from(offset + n))
        return n

    def _read(self, offset: int, view: memoryview, stop: int) -> tuple[int, int | None]:
        """How many bytes were read, and how many of them were in the page cache, None where that is not known."""
        if not self._tells_hits:
            return self._preadv(offset, view), None
        hit_n = self._read_cached(offset, view)
        if hit_n is None or hit_n == len(view):
            return (self._preadv(offset, view), None) if hit_n is None else (hit_n, hit_n)
        try:
            return hit_n + self._preadv(offset + hit_n, view[hit_n:]), hit_n
        except OSError:
            if not hit_n:
                raise
            return hit_n, hit_n  # the next read will tell

    def _read_cached(self, offset: int, view: memoryview) -> int | None:
        """Read what is in the page cache up to the first byte that is not. Where it is not the kernel begins to fetch
        it. None where that cannot be had."""
        try:
            with self._handle.use() as fd:
                return os.preadv(fd, [view], offset, os.RWF_NOWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno not in REFUSALS:
                raise
        except (AttributeError, NotImplementedError):  # not Linux
            pass
        self._tells_hits = False
        return None

    def _preadv(self, offset: int, view: memoryview) -> int:
        flags = self._advisor.read_flags
        if flags:
            try:
                with self._handle.use() as fd:
                    n = os.preadv(fd, [view], offset, flags)
            except (OSError, NotImplementedError) as error:
                number = error.errno if isinstance(error, OSError) else errno.ENOSYS
                if number not in REFUSALS:
                    raise
                self._advisor.read_answered(number)
            else:
                self._advisor.read_answered(0)
                return n
        return self._handle.preadv(view, offset)

    def held_from(self, offset: int) -> int:
        """Where what is still needed begins, when all before offset has been read."""
        return offset

    def close(self, offset: int) -> None:
        """Nothing will be read from offset on. The handle stays open."""
        self._advisor.behind(offset, at_end=True)


def note_refusal(stats: IoStats, what: bytes, error: Exception) -> None:
    number = error.errno if isinstance(error, OSError) else None
    reason = os.fsencode(os.strerror(number)) if number else b"the file is shorter than it was"
    stats.note(what + b" was refused (" + reason + b"), pread took its place")
