"""System calls that os lacks, through ctypes.

ctypes costs about 5 ms to import, so that happens on the first call. Each function returns 0 or an
errno, ENOSYS where the system has no such call. Offsets are 64 bits on every ABI.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes

SYNC_FILE_RANGE_WAIT_BEFORE = 1
SYNC_FILE_RANGE_WRITE = 2
SYNC_FILE_RANGE_WAIT_AFTER = 4
FALLOC_FL_KEEP_SIZE = 1
FALLOC_FL_PUNCH_HOLE = 2
PR_SET_PDEATHSIG = 1
SIGKILL = 9
CACHESTAT_NR = 451  # the same on every architecture but alpha

_libc: list[ctypes.CDLL] = []  # one, once it is needed


def _function(*names: str) -> ctypes._NamedFuncPointer | None:
    """The first of these functions that libc has. None too where there is no descriptor left to load ctypes with."""
    if not _libc:
        try:
            import ctypes

            _libc.append(ctypes.CDLL(None, use_errno=True))
        except (ImportError, OSError):
            return None
    for name in names:
        if hasattr(_libc[0], name):
            return getattr(_libc[0], name)  # type: ignore[no-any-return]
    return None


def sync_file_range(fd: int, offset: int, length: int, flags: int) -> int:
    """Start or await the write-out of a range's dirty pages."""
    call = _function("sync_file_range")
    if call is None:
        return errno.ENOSYS
    import ctypes

    call.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return ctypes.get_errno() if call(fd, offset, length, flags) else 0


def punch_hole(fd: int, offset: int, length: int) -> int:
    """Give a range's blocks back to the file system; the file keeps its size and reads as zeros
    there. Blocks that the range covers in part are zeroed but kept."""
    # fallocate of a 32-bit glibc takes 32-bit offsets; musl and 64-bit systems may have only the
    # plain name.
    call = _function("fallocate64", "fallocate")
    if call is None:
        return errno.ENOSYS
    import ctypes

    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    return ctypes.get_errno() if call(fd, mode, offset, length) else 0


def die_with_parent() -> int:
    """Have this process killed when its parent ends."""
    call = _function("prctl")
    if call is None or sys.platform != "linux":
        return errno.ENOSYS
    import ctypes

    call.argtypes = [ctypes.c_int, ctypes.c_ulong]
    return ctypes.get_errno() if call(PR_SET_PDEATHSIG, SIGKILL) else 0


def cached_pages(fd: int, offset: int = 0, length: int = 0) -> tuple[int, int]:
    """(errno, pages of the range that the page cache holds), by cachestat (Linux 6.5). length 0: to the end."""
    call = _function("syscall")
    if call is None or sys.platform != "linux":
        return errno.ENOSYS, 0
    import ctypes

    extent = (ctypes.c_uint64 * 2)(offset, length)
    counts = (ctypes.c_uint64 * 5)()  # cached, dirty, in write-back, evicted, recently evicted
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
    call.restype = ctypes.c_long
    if call(CACHESTAT_NR, fd, extent, counts, 0):
        return ctypes.get_errno(), 0
    return 0, counts[0]


def mapped_pages(fd: int, offset: int = 0, length: int = 0) -> tuple[int, int]:
    """(errno, pages of the range that the page cache holds), by mincore on a mapping made for the purpose. offset: a
    page's beginning. length 0: to the end."""
    call = _function("mincore")
    if call is None:
        return errno.ENOSYS, 0
    import ctypes

    # Private and writable, though nothing is written: ctypes tells the address of a writable buffer
    # only.
    prot = mmap.PROT_READ | mmap.PROT_WRITE
    try:
        left = os.fstat(fd).st_size - offset
        length = min(length, left) if length else left
        if length <= 0:
            return 0, 0
        mapping = mmap.mmap(fd, length, flags=mmap.MAP_PRIVATE, prot=prot, offset=offset)
    except ValueError:  # cut short just now
        return 0, 0
    except OSError as error:
        return error.errno or errno.EINVAL, 0
    pages = (ctypes.c_ubyte * -(-len(mapping) // mmap.PAGESIZE))()
    start = ctypes.c_char.from_buffer(mapping)
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    failed = call(ctypes.addressof(start), len(mapping), pages)
    error_number = ctypes.get_errno() if failed else 0
    del start  # or the mapping could not be closed
    mapping.close()
    return error_number, sum(page & 1 for page in pages)
