"""The output: standard output, or the file that -o names."""

from __future__ import annotations

import errno
import os
import stat

from pysort.errors import NEXT_MESSAGE, SortError, file_error, shell_name
from pysort.storage.handle import Handle
from pysort.storage.readers import STDIN
from pysort.storage.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pysort.storage.iostats import IoStats
    from pysort.storage.replacement import Replacement

STDOUT = b"standard output"
STDOUT_FD = 1
STDIO_BUFFER_BYTES = 4096


class Output:
    """Opened before any input is read, so that an output that cannot be written costs nothing; emptied only when the
    first line is ready, so that until then a failure leaves the old content.

    write: takes what comes next. Who puts another function there hands on to the one that was there.
    at_end: called when all lines have been written, the last first; they may write more."""

    __slots__ = ("_handle", "_name", "_replacement", "_started", "_writer", "at_end", "write", "written_bytes")

    def __init__(self, name: bytes | None, stats: IoStats, *, atomic: bool = False) -> None:
        """name: of the file, None for standard output. atomic: a regular file keeps its content until finish(). Raises
        SortError `open failed: NAME: ...`."""
        self._name = STDOUT if name is None else name
        self._replacement: Replacement | None = None
        if name is None:
            self._handle = Handle(STDOUT_FD, owned=False)
        else:
            try:
                self._handle = self._open_beside(name) if atomic else Handle.open(name, os.O_WRONLY | os.O_CREAT)
            except OSError as error:
                raise file_error(b"open failed", name, error) from error
        self._writer = Writer(self._handle.fd, stats)
        self._started = False
        self.write: Callable[[memoryview], None] = self._write
        self.at_end: list[Callable[[], None]] = []
        self.written_bytes = 0

    def _open_beside(self, name: bytes) -> Handle:
        """What has no content to keep (a device, a FIFO) is written as ever."""
        from pysort.storage.replacement import Replacement

        old = None
        try:
            handle = Handle.open(name, os.O_WRONLY)  # who may not write there may not replace it
        except FileNotFoundError:
            if os.path.basename(name) in (b"", b".", b".."):  # no name for a file
                raise
        else:
            try:
                old = os.fstat(handle.fd)
            except OSError:
                handle.abandon()
                raise
            if not stat.S_ISREG(old.st_mode):
                return handle
            handle.abandon()
        self._replacement = Replacement(name, old)
        return self._replacement.handle

    def is_input(self, name: bytes) -> bool:
        """Whether reading `name` reads what is written here: it is this regular file, under whatever name."""
        try:
            ours = os.fstat(self._handle.fd)
            theirs = os.fstat(0) if name == STDIN else os.stat(name)
        except OSError:
            return False
        return stat.S_ISREG(ours.st_mode) and os.path.samestat(ours, theirs)

    def _write(self, view: memoryview) -> None:
        """Raises SortError `write failed: NAME: ...` and a second message, `write error`. GNU sort, whose output goes
        through a buffer of 4 KiB, says `fflush failed` when only the last flush fails."""
        self._start()
        self.written_bytes += len(view)
        try:
            self._writer.write_all(view)
        except OSError as error:
            small = self.written_bytes <= STDIO_BUFFER_BYTES
            failure = file_error(b"fflush failed" if small else b"write failed", self._name, error)
            raise SortError(
                *failure.parts,
                NEXT_MESSAGE,
                b"write error",
                errno=error.errno,
                filename=self._name,
            ) from error

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        if not self._handle.owned:
            return
        try:
            old = os.fstat(self._handle.fd)
            # A device or a FIFO need not be cut. Nor need an empty file, which ext4 would write out before close()
            # returns, as it does with what has been cut: 0.4 s for a GB.
            if stat.S_ISREG(old.st_mode) and old.st_size:
                os.ftruncate(self._handle.fd, 0)
        except OSError as error:
            reason = os.fsencode(os.strerror(error.errno or errno.EIO))
            raise SortError(
                shell_name(self._name),
                b": error truncating: ",
                reason,
                errno=error.errno,
                filename=self._name,
            ) from error

    def finish(self) -> None:
        """All lines are written. Raises SortError `close failed: NAME: ...`."""
        for call in reversed(self.at_end):
            call()
        self._start()
        if self._replacement is not None:
            self._replacement.commit()
            return
        try:
            self._handle.close()
        except OSError as error:
            raise file_error(b"close failed", self._name, error) from error

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        if self._replacement is not None:
            self._replacement.discard()
        self._handle.abandon()
