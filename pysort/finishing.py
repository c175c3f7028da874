"""What is done to sorted lines on their way out: the header before them, the first ones only, equal ones counted."""

from __future__ import annotations

from pysort.arena import Arena, LineBuffer
from pysort.plan import CHECK_RECORD_BYTES
from pysort.units import KIBI

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pysort.kernel import Order
    from pysort.storage.filters import Headers

    Write = Callable[[memoryview], None]

COUNT_BYTES = 256 * KIBI


class HeaderFirst:
    """Writes the header before the first line, or at the end where there is no line."""

    __slots__ = ("_headers", "_write")

    def __init__(self, headers: Headers, write: Write) -> None:
        self._headers: Headers | None = headers
        self._write = write

    def write(self, view: memoryview) -> None:
        self.finish()
        self._write(view)

    def finish(self) -> None:
        headers, self._headers = self._headers, None
        if headers is not None and headers.text:
            self._write(memoryview(headers.text))


def first_lines(n: int, separator: int, pieces: Generator[memoryview]) -> Generator[memoryview]:
    """The first n lines of text in pieces of any size. No more is asked for than that takes."""
    end = bytes((separator,))
    try:
        for piece in pieces:
            text = bytes(piece)
            line_n = text.count(end)
            if line_n < n:
                n -= line_n
                yield piece
                continue
            at = 0
            for _ in range(n):
                at = text.index(end, at) + 1
            yield piece[:at]
            return
    finally:
        pieces.close()


class Counter:
    """Takes sorted text in pieces of any size. Of adjacent lines that are equal in an order with -u it writes the
    first, behind their number as uniq -c shows it. Holds COUNT_BYTES, more for a longer line."""

    __slots__ = ("_arena", "_buffer", "_first", "_n", "_order", "_separator", "_write")

    def __init__(self, order: Order, write: Write) -> None:
        self._order = order
        self._separator = bytes((order.separator,))
        self._write = write
        self._arena = Arena(COUNT_BYTES)
        self._buffer = LineBuffer(order, self._arena.view[:], CHECK_RECORD_BYTES)
        self._first = b""  # line of the group that may go on, with its end
        self._n = 0  # lines in it so far

    def write(self, view: memoryview) -> None:
        buffer = self._buffer
        while len(view):
            n = min(buffer.room(), len(view))
            buffer.view[buffer.stop : buffer.stop + n] = view[:n]
            buffer.stop += n
            view = view[n:]
            while True:
                fits = buffer.split()
                is_stuck = buffer.n <= (self._n > 0) and (not fits or buffer.room() <= 0)
                self._count()
                # From here on the line that was read last is record 0, and all text lies in one piece.
                buffer.take_over(buffer, keep_last=True)
                if is_stuck:
                    self._grow()
                elif fits:
                    break

    def _grow(self) -> None:
        self._buffer.view.release()
        self._arena.double()
        self._buffer.view = self._arena.view[:]

    def _count(self) -> None:
        """Count the lines in the buffer, of which the first is the last of the group that may go on, if there is
        one."""
        buffer, kernel = self._buffer, self._order.kernel
        if not buffer.n:
            return
        if not self._n:
            self._begin(0)
        out = []
        start, length = buffer.line(buffer.n - 1)
        text = bytes(buffer.view[: start + length + 1])
        at = 0
        while True:
            # Records before `end` differ, each from the one before it.
            top = buffer.top - at * CHECK_RECORD_BYTES
            end = at + kernel.repeat(self._order.program, self._order.locale, buffer.view, top, buffer.n - at)
            if end - 1 > at:
                out += [self._group(), self._singles(at + 1, end - 1)]
                self._begin(end - 1)
            if end == buffer.n:
                break
            self._n += 1
            at = end
            # Lines of the same bytes, which are most of those that are equal, are counted without a call for each.
            start, length = buffer.line(at)
            line, start = text[start : start + length + 1], start + length + 1
            while text.startswith(line, start):
                self._n += 1
                at += 1
                start += len(line)
        if out:
            self._write(memoryview(b"".join(out)))

    def _begin(self, index: int) -> None:
        start, length = self._buffer.line(index)
        self._first = bytes(self._buffer.view[start : start + length + 1])
        self._n = 1

    def _group(self) -> bytes:
        return b"%7d %b" % (self._n, self._first)

    def _singles(self, first: int, last: int) -> bytes:
        """Lines first..last-1, each of which is one of its kind."""
        if first == last:
            return b""
        prefix = b"%7d " % 1
        start, stop = self._buffer.line(first)[0], self._buffer.line(last)[0]
        text = bytes(self._buffer.view[start : stop - 1])
        return prefix + text.replace(self._separator, self._separator + prefix) + self._separator

    def finish(self) -> None:
        if self._n:
            self._write(memoryview(self._group()))
        self._buffer.view.release()
        self._arena.close()
