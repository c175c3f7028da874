"""Chooses the kernel, once: the C extension if it was built, else its Python twin.

PYSORT_KERNEL=c or PYSORT_KERNEL=python is a demand: a kernel that is not there, or an unknown name, is an error and
never quietly another one.
"""

from __future__ import annotations

import os
import struct

from pysort.errors import SortError, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNIQUE, COUNT = 4, 16  # PS_UNIQUE, PS_COUNT
_FLAGS = struct.Struct("=2I")  # how a key program begins: flags, number of segments


class Order:
    """The order of lines: a key program, and the kernel that runs it.

    locale: what kernel.open_locale returned, None where the program needs none. keyed: the records address encoded
    keys. folds: of lines that are equal one after the other the first is kept; counts: with their number. separator:
    ends a line.
    """

    __slots__ = ("counts", "folds", "kernel", "keyed", "locale", "program", "separator")

    def __init__(self, kernel: Any, program: bytes, separator: int, locale: Any = None) -> None:
        flags, segment_n = _FLAGS.unpack_from(program)
        self.kernel = kernel
        self.program = program
        self.locale = locale
        self.separator = separator
        self.keyed = segment_n > 0
        self.counts = bool(flags & COUNT)
        self.folds = bool(flags & (UNIQUE | COUNT))

    def follows(self, first: bytes, second: bytes) -> bool:
        """Whether the second line may come behind the first one: it is not less, nor equal where equal lines are
        folded."""
        if self.folds and first == second:
            return False
        separator = bytes((self.separator,))
        text = first + separator + second + separator
        room = 8 * len(text) + 256
        while True:
            top = len(text) + room + 2 * self.kernel.RECORD_BYTES
            top += -top % 16
            arena = bytearray(top)
            arena[: len(text)] = text
            self.kernel.scan(self.program, arena, 0, len(text), top, 0, 2)
            done = 2
            if self.keyed:
                limit = top - 2 * self.kernel.RECORD_BYTES
                done, _ = self.kernel.encode(self.program, self.locale, arena, top, 0, 2, len(text), limit)
            if done == 2:
                return bool(self.kernel.check(self.program, self.locale, arena, top, 2) == 2)
            room *= 2


def load(demand: bytes | None) -> Any:
    """The module that implements the kernel. demand: the value of PYSORT_KERNEL. Raises SortError when it cannot be
    met."""
    if demand not in (None, b"", b"c", b"python"):
        raise SortError(b"PYSORT_KERNEL is ", quote(demand or b""), b", not 'c' or 'python'")
    if demand != b"python":
        try:
            import pysort._kernel as c_kernel

            return c_kernel
        except ImportError as error:
            if demand == b"c":
                reason = os.fsencode(str(error))
                raise SortError(b"PYSORT_KERNEL=c: the C kernel was not built: ", reason) from error
    import pysort._kernel_py as python_kernel

    return python_kernel
