"""The page cache of one file: how much of it is in memory, and how to get it out."""

from __future__ import annotations

import mmap
import os
import time

from pysort.storage import syscalls
from pysort.storage.handle import Handle

GRAIN_BYTES = 64 << 10
LOAD_BYTES = 1 << 20
DROP_TRIES_N = 200
DROP_PAUSE_SECONDS = 0.002


def resident_bytes(file: int | bytes, offset: int = 0, length: int = 0) -> int | None:
    """Bytes of the file (descriptor or path) in the page cache, in whole pages. offset, a page's beginning, and length:
    of this range; length 0: to the end of the file. None where the system does not tell. Raises OSError when a path
    cannot be opened."""
    if isinstance(file, bytes):
        with Handle.open(file, os.O_RDONLY) as handle:
            return resident_bytes(handle.fd, offset, length)
    error, pages_n = syscalls.cached_pages(file, offset, length)
    if error:
        error, pages_n = syscalls.mapped_pages(file, offset, length)
    return None if error else pages_n * mmap.PAGESIZE


def resident_ranges(fd: int, start: int, stop: int) -> list[tuple[int, int]] | None:
    """The parts of bytes start..stop-1 that are in the page cache, in order, as (start, stop). A part of at most
    GRAIN_BYTES counts whole when any of it is there. start: a page's beginning. None where the system does not tell."""
    resident = resident_bytes(fd, start, stop - start)
    if not resident:
        return None if resident is None else []
    if resident >= stop - start or stop - start <= GRAIN_BYTES:
        return [(start, stop)]
    middle = start + (stop - start) // 2
    middle += -middle % GRAIN_BYTES
    ranges: list[tuple[int, int]] = []
    for part in (resident_ranges(fd, start, middle), resident_ranges(fd, middle, stop)):
        if part is None:
            return None
        if ranges and part and ranges[-1][1] == part[0][0]:
            part[0] = (ranges.pop()[0], part[0][1])
        ranges += part
    return ranges


def drop(fd: int) -> int | None:
    """Write the file out and drop it from the page cache. Returns the bytes that stayed (0 when all
    went), None where the system does not tell. Pages stay that somebody has mapped, and all of them
    on tmpfs and where there is no advice (macOS). Raises OSError from fsync.
    """
    os.fsync(fd)
    if not hasattr(os, "posix_fadvise"):
        return resident_bytes(fd)
    left: int | None = None
    # Pages still under read-ahead are passed over: ask again until they have arrived and gone.
    for _ in range(DROP_TRIES_N):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        left = resident_bytes(fd)
        if not left:
            break
        time.sleep(DROP_PAUSE_SECONDS)
    return left


def load(fd: int) -> int | None:
    """Read the file into the page cache, unless all of it is there. Returns how many of its bytes are there then, in
    whole pages, None where the system does not tell. Raises OSError."""
    resident = resident_bytes(fd)
    if resident is not None and resident >= os.fstat(fd).st_size:
        return resident
    buffer = memoryview(bytearray(LOAD_BYTES))
    at = 0
    while n := os.preadv(fd, [buffer], at):
        at += n
    return resident_bytes(fd)
