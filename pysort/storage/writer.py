"""The output side: every byte written or an error."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.storage.iostats import IoStats


class Writer:
    """Writes to a descriptor that somebody else closes."""

    __slots__ = ("_fd", "_stats")

    def __init__(self, fd: int, stats: IoStats) -> None:
        self._fd = fd
        self._stats = stats

    def write_all(self, view: memoryview) -> None:
        """Raises OSError; part of view may be written by then. A write that takes nothing and gives no reason is taken
        for a full disk, as GNU sort does: tried again it might never end."""
        while len(view):
            started = self._stats.start()
            n = os.write(self._fd, view)
            if not n:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._stats.count_write(n, started)
            view = view[n:]
