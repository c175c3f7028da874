"""One mapped piece of a file."""

from __future__ import annotations

import mmap

# Bounded, because a mapping's pages count as ours while it lives: windows are part of -S.
WINDOW_BYTES = 16 << 20


class Window:
    """Bytes start..stop-1 of a file, mapped for reading; positions are the file's own.

    Raises OSError where the file cannot be mapped (ENODEV, ENOMEM, EMFILE: CPython holds a
    duplicate descriptor as long as the mapping lives) and ValueError when the file is shorter than
    `stop`.

    Reading from a page that has lost its part of the file since it was mapped ends the process with
    SIGBUS. Python can not catch that, so whoever copies compares with fstat just before.
    """

    __slots__ = ("_base", "_map", "_view", "start", "stop")

    def __init__(self, fd: int, start: int, stop: int) -> None:
        self.start = start
        self.stop = stop
        self._base = start - start % mmap.ALLOCATIONGRANULARITY
        self._map = mmap.mmap(
            fd,
            stop - self._base,
            flags=mmap.MAP_SHARED,
            prot=mmap.PROT_READ,
            offset=self._base,
        )
        self._view = memoryview(self._map)

    def copy(self, position: int, view: memoryview) -> None:
        """Fill view with the bytes from `position` on, all of which lie in the window."""
        begin = position - self._base
        view[:] = self._view[begin : begin + len(view)]

    def close(self) -> None:
        self._view.release()
        self._map.close()
