"""Reading an open file at any position: with pread, out of mapped windows, or past the page cache.

Each kind falls back to pread where the system refuses it, and notes the reason. Hints are given around each read.
"""

from __future__ import annotations

import errno
import mmap
import os

from pysort.storage.access import advice_number
from pysort.storage.advice import NO_END
from pysort.storage.hints import HintResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.access import Access
    from pysort.storage.advice import Advisor
    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats
    from pysort.storage.window import Window

ALIGN_BYTES = 4096  # of positions, lengths and memory in direct I/O
DIRECT_BYTES = 1 << 20
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


class Mmap(Pread):
    """Copies from windows of at most window_bytes. Where there is nothing to map (the end, a file that cannot be
    mapped) it reads with preadv, so that a file that grows is read to its new end.

    The size is looked at before each copy and after it: a page that the file has lost in part shows zeros there.
    """

    __slots__ = ("_access", "_advice", "_flags", "_window", "_window_bytes")

    def __init__(self, handle: Handle, stats: IoStats, advisor: Advisor, access: Access, window_bytes: int) -> None:
        super().__init__(handle, stats, advisor)
        advisor.read_answered(errno.ENOTSUP)  # a copy takes no flags
        self._access = access
        self._window: Window | None = None
        self._window_bytes = window_bytes
        self._flags = access.map_flags.value
        self._advice = access.advice
        for name in access.map_flags.missing:
            stats.note(b"the mmap flag " + name.encode() + b" does not exist here and was left out")
        self._keep_memory(os.fstat(handle.fd).st_size)

    def _keep_memory(self, size: int) -> None:
        """Populate nothing that the memory does not hold: what came first would be gone before it is read. (Measured:
        a file of 512 MiB in 300 MiB of memory was read 1.8 times.)"""
        populate = getattr(mmap, "MAP_POPULATE", 0)
        limit = self._access.populate_bytes
        if limit is None or size <= limit or not (self._flags & populate or self._advice == "populate-read"):
            return
        self._flags &= ~populate
        self._advice = "" if self._advice == "populate-read" else self._advice
        self._stats.note(b"populate was left out: a file is larger than the memory that is available")

    def _read(self, offset: int, view: memoryview, stop: int) -> tuple[int, int | None]:
        window = self._window_at(offset, stop)
        if window is None:
            return super()._read(offset, view, stop)
        n = min(len(view), window.stop - offset)
        came = window.copy(offset, view[:n])
        if self._size() < window.stop:
            self._unmap()
            raise CutShort
        if not came:  # the disk did not give it: pread says why
            self._unmap()
            return super()._read(offset, view[:n], stop)
        if offset + n == window.stop:
            self._unmap()
        return n, None

    def _size(self) -> int:
        return os.fstat(self._handle.fd).st_size

    def _window_at(self, offset: int, stop: int) -> Window | None:
        size = self._size()
        window = self._window
        if window is not None:
            if size < window.stop:
                self._unmap()
                raise CutShort
            return window
        end = min(size, stop, offset + self._window_bytes)
        if end <= offset:
            return None
        try:
            from pysort.storage.window import Window

            window = self._window = Window(self._handle.fd, offset, end, self._flags)
        except (OSError, ValueError) as error:
            note_refusal(self._stats, b"mmap", error)
            return None
        self._advise(window)
        return window

    def _advise(self, window: Window) -> None:
        if not self._advice:
            return
        number = advice_number(self._advice)
        started = self._stats.start()
        error = errno.ENOSYS if number is None else window.advise(number)
        ns = self._stats.start() - started
        self._stats.count_hints([HintResult(f"madvise {self._advice}", error, ns)])

    def _unmap(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None

    def held_from(self, offset: int) -> int:
        # A mapped page cannot be dropped, and a hole under a mapping reads as zeros.
        return offset if self._window is None else self._window.start

    def close(self, offset: int) -> None:
        self._unmap()
        super().close(offset)


class Direct(Pread):
    """Reads past the page cache (O_DIRECT), into an aligned buffer that is copied from. handle: of a description of its
    own, since the flag is the description's."""

    __slots__ = ("_buffer", "_is_direct", "_map", "_start", "_stop")

    def __init__(self, handle: Handle, stats: IoStats, advisor: Advisor, window_bytes: int) -> None:
        super().__init__(handle, stats, advisor)
        self._start = self._stop = 0  # what the buffer holds
        self._is_direct = True
        try:
            set_direct(handle.fd, True)
        except OSError as error:
            self._give_up(error)
            return
        advisor.read_answered(errno.ENOTSUP)  # there is no cache to keep out of
        size = max(min(window_bytes, DIRECT_BYTES), ALIGN_BYTES)
        self._map = mmap.mmap(-1, size - size % ALIGN_BYTES)
        self._buffer = memoryview(self._map)

    def _read(self, offset: int, view: memoryview, stop: int) -> tuple[int, int | None]:
        if self._is_direct and not self._start <= offset < self._stop:
            self._fill(offset, stop)
        if not self._is_direct:
            return super()._read(offset, view, stop)
        at = offset - self._start
        n = max(min(len(view), self._stop - offset), 0)
        with self._buffer[at : at + n] as piece:
            view[:n] = piece
        return n, 0

    def _fill(self, offset: int, stop: int) -> None:
        """Read what follows offset into the buffer. The end of the file need not be aligned."""
        start = offset - offset % ALIGN_BYTES
        length = min(len(self._buffer), stop + -stop % ALIGN_BYTES - start)
        try:
            with self._buffer[:length] as piece:  # released also when an exception holds on to it
                n = self._handle.preadv(piece, start)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            set_direct(self._handle.fd, False)
            self._give_up(error)
            return
        self._start, self._stop = start, start + n

    def _give_up(self, error: OSError) -> None:
        self._is_direct = False
        note_refusal(self._stats, b"direct reading", error)

    def close(self, offset: int) -> None:
        if self._is_direct:
            self._buffer.release()
            self._map.close()
        super().close(offset)


def note_refusal(stats: IoStats, what: bytes, error: Exception) -> None:
    number = error.errno if isinstance(error, OSError) else None
    reason = os.fsencode(os.strerror(number)) if number else b"the file is shorter than it was"
    stats.note(what + b" was refused (" + reason + b"), pread took its place")


def set_direct(fd: int, direct: bool) -> None:
    """Turn O_DIRECT on or off. Raises OSError, EINVAL where the file system or the platform has no such thing."""
    import fcntl

    flag = getattr(os, "O_DIRECT", 0)
    if not flag:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | flag if direct else flags & ~flag)


def open_positional(
    handle: Handle, kind: str, access: Access, stats: IoStats, advisor: Advisor, readers_n: int, *, foreign: bool
) -> Pread:
    """A reader of the kind, one of readers_n. foreign: others may cut the file short."""
    if kind == "direct":
        return Direct(handle, stats, advisor, access.window_bytes(readers_n))
    if kind == "mmap":
        from pysort.storage import guard

        if not foreign or guard.is_installed():
            return Mmap(handle, stats, advisor, access, access.window_bytes(readers_n))
        stats.note(b"mmap needs the C kernel where others may cut a file short, pread took its place")
    return Pread(handle, stats, advisor)
