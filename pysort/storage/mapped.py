"""Reading a file out of mapped windows."""

from __future__ import annotations

import errno
import mmap
import os

from pysort.storage.access import advice_number
from pysort.storage.hints import HintResult
from pysort.storage.positional import CutShort, Pread, note_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.access import Access
    from pysort.storage.advice import Advisor
    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats
    from pysort.storage.window import Window


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
