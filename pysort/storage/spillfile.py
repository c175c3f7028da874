"""A spill file: temporary runs end to end in one file that has no name.

The file is unlinked from the start, so nothing is left behind even after SIGKILL, and a thousand
runs cost one descriptor. It only ever grows at its end; space is given back by punching holes where
runs have been read.
"""

from __future__ import annotations

import errno
import os
import resource
from _thread import allocate_lock

from pysort.errors import SortError, creation_error, shell_name
from pysort.storage import syscalls
from pysort.storage.advice import Advisor
from pysort.storage.handle import Handle
from pysort.storage.positional import ALIGN_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

    from pysort.storage.checksum import Checksums
    from pysort.storage.codecs import Codec
    from pysort.storage.compressor import Compressor
    from pysort.storage.hints import Strategy
    from pysort.storage.iostats import IoStats

WRITE_BEHIND_BYTES = 8 << 20
NAME_TRIES_N = 100
NAME_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

# What the write-out of earlier bytes may end with; anything else says that the call itself is not
# to be had.
WRITE_OUT_ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)

# What a file system, or a user's share of it, that is full refuses bytes and new files with.


class WriteOutError(OSError):
    """Bytes that were taken earlier did not reach the disk."""


class SpillFile:
    """One unlinked file in `directory`. `end` is where the next byte goes."""

    __slots__ = (
        "_advised",
        "_direct",
        "_lag_n",
        "_limit",
        "_opening",
        "_synced",
        "_syncs",
        "directory",
        "end",
        "handle",
    )

    def __init__(self, directory: bytes, dirty_bytes: int) -> None:
        """dirty_bytes: that may wait to be written to the disk. Raises SortError `cannot create temporary file in
        'DIRECTORY': ...`."""
        self.directory = directory
        self._lag_n = dirty_bytes // 2 // WRITE_BEHIND_BYTES
        self.handle = _open_unlinked(directory)
        self.end = 0
        # A write that begins at the limit brings SIGXFSZ, whose default action ends the process; one
        # that reaches it is cut short.
        self._limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        self._synced = 0
        self._syncs = True
        self._advised = False
        self._direct: Handle | None = None
        self._opening = allocate_lock()

    def align(self) -> None:
        """Extents begin where direct I/O and hole punching ask for it."""
        self.end += -self.end % ALIGN_BYTES

    def append(self, view: memoryview) -> int:
        """Write the front of view at the end, as much as one system call takes. Raises OSError, WriteOutError;
        EFBIG when the file may not grow, ENOSPC also when nothing was written and no reason given."""
        if self._limit != resource.RLIM_INFINITY and self.end >= self._limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        n = os.pwrite(self.handle.fd, view, self.end)
        if not n and len(view):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.end += n
        self._write_behind()
        return n

    def _write_behind(self) -> None:
        """Start the write-out of windows when half of what may be dirty lies behind them, and await it after the other
        half: what is read back before that never goes to the disk. Raises WriteOutError."""
        wait = (
            syscalls.SYNC_FILE_RANGE_WAIT_BEFORE | syscalls.SYNC_FILE_RANGE_WRITE | syscalls.SYNC_FILE_RANGE_WAIT_AFTER
        )
        lag = self._lag_n * WRITE_BEHIND_BYTES
        while self._syncs and self.end - self._synced >= WRITE_BEHIND_BYTES + lag:
            self._sync(self._synced, syscalls.SYNC_FILE_RANGE_WRITE)
            oldest = self._synced - lag
            if oldest >= 0:
                self._sync(oldest, wait)
            self._synced += WRITE_BEHIND_BYTES

    def _sync(self, offset: int, flags: int) -> None:
        error = syscalls.sync_file_range(self.handle.fd, offset, WRITE_BEHIND_BYTES, flags)
        if error in WRITE_OUT_ERRORS:
            raise WriteOutError(error, os.strerror(error))
        self._syncs = not error

    def punch(self, start: int, stop: int) -> bool:
        """Give bytes start..stop-1 back to the file system. False where it does not take them."""
        if start >= stop:
            return True
        return syscalls.punch_hole(self.handle.fd, start, stop - start) == 0

    def advise(self, strategy: Strategy, stats: IoStats) -> None:
        """Give the advice for reading, once: all readers of the file share its descriptor."""
        if not self._advised:
            self._advised = True
            Advisor(self.handle, strategy, stats).open()

    def direct_handle(self) -> Handle:
        """What the file is read directly with: O_DIRECT is a flag of the description, and it is written without. Raises
        OSError."""
        with self._opening:  # readers of several runs may ask at the same time
            if self._direct is None:
                self._direct = self.handle.reopen()
            return self._direct

    def close(self) -> None:
        if self._direct is not None:
            self._direct.abandon()
        self.handle.abandon()


def _open_unlinked(directory: bytes) -> Handle:
    # Whatever keeps O_TMPFILE from working (not every file system has it), the other way tells the
    # true reason. An empty directory (TMPDIR= in the environment) stands for the root, as in GNU.
    if hasattr(os, "O_TMPFILE"):
        try:
            return Handle.open(directory or b"/", os.O_RDWR | os.O_TMPFILE | os.O_EXCL, 0o600)
        except OSError:
            pass
    try:
        return _create_and_unlink(directory)
    except OSError as error:
        raise creation_error(directory, error) from error


def _create_and_unlink(directory: bytes) -> Handle:
    for _ in range(NAME_TRIES_N):
        letters = bytes(NAME_LETTERS[byte % len(NAME_LETTERS)] for byte in os.urandom(6))
        path = directory + b"/sort" + letters
        try:
            handle = Handle.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        try:
            os.unlink(path)
        except OSError:
            handle.abandon()
            raise
        return handle
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


class Extent:
    """Bytes offset..offset+length-1 of a spill file."""

    __slots__ = ("file", "length", "offset")

    def __init__(self, file: SpillFile, offset: int) -> None:
        self.file = file
        self.offset = offset
        self.length = 0

    @property
    def end(self) -> int:
        return self.offset + self.length


class Packing:
    """How the blocks of a run are compressed. ends: of each of them, in what is stored."""

    __slots__ = ("codec", "ends")

    def __init__(self, codec: Codec, ends: array[int]) -> None:
        self.codec = codec
        self.ends = ends


class SpilledRun:
    """A run on disk: `length` bytes, in `stored_bytes` bytes of extents, one after the other. More than one extent only
    where a file could not grow. checksums: of each block_bytes of the run, the last block being what is left;
    of what is stored of them if the run is packed. index: 0 for the first run of the job. compressor: the program that
    makes the run out of the extents. packing: how its blocks are compressed. Without either the extents are the run.
    """

    __slots__ = (
        "block_bytes",
        "checksums",
        "compressor",
        "directory",
        "extents",
        "index",
        "length",
        "packing",
        "stored_bytes",
    )

    def __init__(
        self,
        index: int,
        directory: bytes,
        length: int,
        extents: list[Extent],
        checksums: Checksums,
        block_bytes: int,
        compressor: Compressor | None = None,
    ) -> None:
        self.index = index
        self.directory = directory
        self.length = length
        self.extents = extents
        self.checksums = checksums
        self.block_bytes = block_bytes
        self.compressor = compressor
        self.packing: Packing | None = None
        self.stored_bytes = sum(extent.length for extent in extents)


def run_error(action: bytes, directory: bytes, index: int, offset: int, reason: bytes | OSError) -> SortError:
    """`write failed: DIRECTORY: No space left on device (run 3, offset 8192)`. The offset is the run's."""
    number = None
    if isinstance(reason, OSError):
        number = reason.errno
        reason = os.fsencode(os.strerror(number or 0))
    place = b" (run %d, offset %d)" % (index, offset)
    return SortError(action, b": ", shell_name(directory), b": ", reason, place, errno=number, filename=directory)
