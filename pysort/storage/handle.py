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
        fd = os.open(path, flags | os.O_CLOEXEC, mode)
        if fd <= STDERR_FD:
            import fcntl

            low = fd
            try:
                fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, STDERR_FD + 1)
            finally:
                os.close(low)
        return cls(fd)

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
