"""One descriptor and who closes it. Nothing else in pysort closes a descriptor."""

from __future__ import annotations

import os

STDERR_FD = 2


class Handle:
    """Owner of `fd`, or its borrower (owned=False), which never closes it.

    close() may be called again and closes nothing the second time: the number may belong to a
    stranger by then. Any other use after close() is a ValueError.
    """

    __slots__ = ("_fd", "owned")

    def __init__(self, fd: int, owned: bool = True) -> None:
        self._fd = fd
        self.owned = owned

    @classmethod
    def open(cls, path: bytes, flags: int, mode: int = 0o666) -> Handle:
        """Open close-on-exec. Raises OSError.

        A process started with a standard descriptor closed would get its number for a file, and `-`
        or an error message would end up there; so the descriptor is always above 2.
        """
        return cls(_above_stderr(os.open(path, flags | os.O_CLOEXEC, mode)))

    @classmethod
    def pipe(cls) -> tuple[Handle, Handle]:
        """A new pipe: the end to read from and the end to write to, close-on-exec and above 2. Raises OSError."""
        low_reading, low_writing = os.pipe()
        try:
            reading = cls(_above_stderr(low_reading))
        except OSError:
            os.close(low_writing)
            raise
        try:
            return reading, cls(_above_stderr(low_writing))
        except OSError:
            reading.close()
            raise

    @property
    def fd(self) -> int:
        if self.closed:
            raise ValueError("the descriptor was closed")
        return self._fd

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def close(self) -> None:
        """Raises OSError when close(2) fails; the descriptor is gone even so."""
        fd, self._fd = self._fd, -1
        if fd >= 0 and self.owned:
            os.close(fd)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _above_stderr(fd: int) -> int:
    """The descriptor, or one above 2 that takes its place. Raises OSError; the descriptor is closed then."""
    if fd > STDERR_FD:
        return fd
    import fcntl

    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, STDERR_FD + 1)
    finally:
        os.close(fd)
