"""The page cache of one file: how much of it is in memory, and how to get it out."""

from __future__ import annotations

import mmap
import os
import time

from pysort.storage import syscalls
from pysort.storage.handle import Handle

DROP_TRIES_N = 200
DROP_PAUSE_SECONDS = 0.002


def resident_bytes(file: int | bytes) -> int | None:
    """Bytes of the file (descriptor or path) in the page cache, in whole pages. None where the
    system does not tell. Raises OSError when a path cannot be opened."""
    if isinstance(file, bytes):
        with Handle.open(file, os.O_RDONLY) as handle:
            return resident_bytes(handle.fd)
    error, pages_n = syscalls.cached_pages(file)
    if error:
        error, pages_n = syscalls.mapped_pages(file)
    return None if error else pages_n * mmap.PAGESIZE


def drop(fd: int) -> int | None:
    """Write the file out and drop it from the page cache. Returns the bytes that stayed (0 when all
    went), None where the system does not tell. Pages stay that somebody has mapped, and all of them
    on tmpfs. Raises OSError from fsync.
    """
    os.fsync(fd)
    left: int | None = None
    # Pages still under read-ahead are passed over: ask again until they have arrived and gone.
    for _ in range(DROP_TRIES_N):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_bytes(fd)
        if not left:
            break
        time.sleep(DROP_PAUSE_SECONDS)
    return left
