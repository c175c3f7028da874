"""Checking order, for -c and -C: one input, read no further than to the first line that is out of order."""

from __future__ import annotations

from pysort.arena import LineBuffer
from pysort.errors import ASCII_PRINTABLE, SortError
from pysort.plan import CHECK_RECORD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.arena import Arena
    from pysort.errors import Quoted
    from pysort.kernel import Order
    from pysort.storage.readers import LineReader


class Disorder(SortError):
    """The answer no, which is not a failure: status 1. Its message shows name and line as they are, and ends as the
    line does; under -C there is none."""

    def __init__(self, name: bytes, line_n: int, line: bytes, separator: int, *, quiet: bool) -> None:
        """line_n: of the line that is less than the one before it, counted from 1."""
        place = b"%b:%d: disorder: " % (name, line_n)
        parts: tuple[bytes | Quoted, ...] = () if quiet else (place, line, bytes((separator,)))
        super().__init__(*parts, status=1, filename=name)
        self.line_n = line_n

    def render(self, program: bytes, utf8: bool, printable: bytes = ASCII_PRINTABLE) -> bytes:
        return b"".join((program, b": ", self._message(b"", (utf8, printable)))) if self.parts else b""


def check(order: Order, arena: Arena, reader: LineReader, read_bytes: int) -> tuple[int, bytes] | None:
    """Number, counted from 1, and text of the first line that is out of order with the one before it; None when there
    is none.

    read_bytes: most that one read asks for. What was read is looked at before more is. Raises SortError.
    """
    buffer = LineBuffer(order, arena.view[:], CHECK_RECORD_BYTES)
    line_n = 0  # lines before the buffer's first
    try:
        while _load(buffer, arena, reader, read_bytes):
            at = order.kernel.check(order.program, order.locale, buffer.view, buffer.top, buffer.n)
            if at < buffer.n:
                start, length = buffer.line(at)
                return line_n + at + 1, bytes(buffer.view[start : start + length])
            line_n += buffer.n - 1
        return None
    finally:
        buffer.view.release()


def _load(buffer: LineBuffer, arena: Arena, reader: LineReader, read_bytes: int) -> bool:
    """Bring in the next lines, one at least, behind the line read last. False at the end of the input."""
    kept = int(buffer.n > 0)
    buffer.take_over(buffer, keep_last=True)
    while True:
        fits = buffer.split()
        if buffer.n > kept:
            return True
        room = buffer.room()
        if not fits or room <= 0:
            buffer.take_over(buffer, keep_last=True)
            buffer.view.release()
            arena.double()
            buffer.view = arena.view[:]
            continue
        n = reader.readinto(buffer.view[buffer.stop :][: min(room, read_bytes)])
        if not n:
            return False
        buffer.stop += n
