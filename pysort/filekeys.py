"""Key functions for files. A line goes through the job behind its key, `KEY SEPARATOR LINE`, in runs too, so that the
function is called once for each.
"""

from __future__ import annotations

from pysort.linekeys import PIECE_BYTES, KeyEncoder, WholeLines
from pysort.storage.filters import Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysort.storage.readers import InputReader


class WithKeys(Filter):
    """Puts the key of each line before it."""

    __slots__ = ("_end", "_key")

    def __init__(self, inner: InputReader, key: KeyEncoder, end: bytes) -> None:
        """end: ends a line."""
        self._key = key
        self._end = end
        super().__init__(inner)
        self.is_stream = True  # read by the job's own thread alone, as the function expects

    def _filtered(self) -> Iterator[bytes]:
        begun: list[bytes] = []
        for piece in self._pieces():
            text, end, rest = piece.rpartition(self._end)
            if end:
                yield from self._keyed(b"".join((*begun, text)))
                begun.clear()
            begun.append(rest)
        if last := b"".join(begun):
            yield from self._keyed(last)  # what lacks its end gets it here

    def _keyed(self, text: bytes) -> Iterator[bytes]:
        """text: lines, the last one without its end."""
        key, separator = self._key, bytes((self._key.separator,))
        parts: list[bytes] = []
        size = 0
        for line in text.split(self._end):
            parts += (key(line), separator, line, self._end)
            size += len(parts[-4]) + len(line) + 2
            if size >= PIECE_BYTES:
                yield b"".join(parts)
                parts.clear()
                size = 0
        yield b"".join(parts)


class WithoutKeys:
    """Takes the keys out of sorted lines on their way to the output, where each may stand behind its number."""

    __slots__ = ("_are_counted", "_end", "_separator", "_whole", "_write")

    def __init__(self, key: KeyEncoder, end: bytes, are_counted: bool, write: Callable[[memoryview], None]) -> None:
        self._separator = bytes((key.separator,))
        self._end = end
        self._are_counted = are_counted
        self._whole = WholeLines(end)
        self._write = write

    def write(self, view: memoryview) -> None:
        for text in self._whole.of(view):
            lines = text[: -len(self._end)].split(self._end)
            self._write(memoryview(self._end.join(map(self._bare, lines)) + self._end))

    def _bare(self, line: bytes) -> bytes:
        at = line.index(b" ", 7) + 1 if self._are_counted else 0  # a number takes seven places or more
        return line[:at] + line[line.index(self._separator, at) + 1 :]
