"""One mapped piece of a file."""

from __future__ import annotations

import errno
import mmap

from pysort.storage import guard


class Window:
    """Bytes start..stop-1 of a file, mapped for reading; positions are the file's own. flags: beside MAP_SHARED.

    Raises OSError where the file cannot be mapped (ENODEV, ENOMEM, EMFILE: CPython holds a duplicate descriptor as long
    as the mapping lives; EINVAL for flags) and ValueError when the file is shorter than `stop`.
    """

    __slots__ = ("_base", "_map", "_view", "start", "stop")

    def __init__(self, fd: int, start: int, stop: int, flags: int = 0) -> None:
        self.start = start
        self.stop = stop
        self._base = start - start % mmap.ALLOCATIONGRANULARITY
        self._map = mmap.mmap(
            fd,
            stop - self._base,
            flags=mmap.MAP_SHARED | flags,
            prot=mmap.PROT_READ,
            offset=self._base,
        )
        self._view = memoryview(self._map)

    def advise(self, advice: int) -> int:
        """madvise for all of it. Returns 0 or an errno."""
        try:
            self._map.madvise(advice)
        except OSError as error:
            return error.errno or errno.EINVAL
        return 0

    def copy(self, position: int, view: memoryview) -> bool:
        """Fill view with the bytes from `position` on, all of which lie in the window. False when the file has lost
        some of them, or they cannot be read."""
        begin = position - self._base
        with self._view[begin : begin + len(view)] as source:
            return guard.copy(source, view)

    def close(self) -> None:
        self._view.release()
        self._map.close()
