"""What is done to sorted lines on their way out: the header before them, the first ones only, their counts."""

from __future__ import annotations

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
    """Takes counted lines (see csrc/kernel.h) as text in pieces of any size. Writes each behind its count, as uniq -c
    shows it. Holds a few times COUNT_BYTES, or of the longest line."""

    __slots__ = ("_order", "_out", "_rest", "_write")

    def __init__(self, order: Order, write: Write) -> None:
        self._order = order
        self._write = write
        self._rest = bytearray()  # of the last piece: the beginning of a line
        self._out = bytearray(COUNT_BYTES)

    def write(self, view: memoryview) -> None:
        for at in range(0, len(view), COUNT_BYTES):
            self._take(bytes(view[at : at + COUNT_BYTES]))

    def _take(self, piece: bytes) -> None:
        stop = piece.rfind(self._order.separator) + 1
        if not stop:
            self._rest += piece
            return
        self._show(self._rest + piece[:stop])
        self._rest = bytearray(piece[stop:])

    def _show(self, text: bytearray) -> None:
        """Complete lines."""
        kernel, at = self._order.kernel, 0
        while at < len(text):
            n, used = kernel.show_counts(self._order.program, memoryview(text)[at:], self._out)
            if used:
                self._write(memoryview(self._out)[:used])
            else:  # a long line
                self._out = bytearray(2 * len(self._out))
            at += n
