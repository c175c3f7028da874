"""Reading a file past the page cache."""

from __future__ import annotations

import errno
import mmap
import os

from pysort.storage.positional import ALIGN_BYTES, Pread, note_refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.advice import Advisor
    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats

DIRECT_BYTES = 1 << 20


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


def set_direct(fd: int, direct: bool) -> None:
    """Turn O_DIRECT on or off. Raises OSError, EINVAL where the file system or the platform has no such thing."""
    import fcntl

    flag = getattr(os, "O_DIRECT", 0)
    if not flag:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | flag if direct else flags & ~flag)
