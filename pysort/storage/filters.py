"""What inputs pass through before they are split into lines: carriage returns and header lines are taken out."""

from __future__ import annotations

from _thread import allocate_lock

from pysort.errors import SortError, shell_name
from pysort.storage.readers import InputReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST_PIECE_BYTES = 256 << 10
LEAST_PIECE_BYTES = 4 << 10
_CR = b"\r"


class Filter(InputReader):
    """Reads from another reader, which it owns, and hands on what _filtered() makes of that. It reads as much at once
    as it is first asked for: where many inputs are merged that is little of each, and what a filter holds is not in
    the arena."""

    __slots__ = ("_inner", "_made", "_piece_bytes", "_rest", "is_stream")

    def __init__(self, inner: InputReader) -> None:
        self.name = inner.name
        self.is_stream = inner.is_stream
        self._inner = inner
        self._made = self._filtered()
        self._piece_bytes = 0
        self._rest = memoryview(b"")

    def readinto(self, view: memoryview) -> int:
        if not self._piece_bytes:
            self._piece_bytes = max(min(len(view), LARGEST_PIECE_BYTES), LEAST_PIECE_BYTES)
        while not self._rest:
            made = next(self._made, None)
            if made is None:
                return 0
            self._rest = memoryview(made)
        n = min(len(view), len(self._rest))
        view[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def _filtered(self) -> Iterator[bytes]:
        raise NotImplementedError

    def _pieces(self) -> Iterator[bytes]:
        """What the other reader reads."""
        view = memoryview(bytearray(self._piece_bytes))
        while n := self._inner.readinto(view):
            yield bytes(view[:n])

    def size_hint(self) -> int | None:
        return self._inner.size_hint()

    def close(self) -> None:
        self._inner.close()


class CarriageReturns(Filter):
    """Leaves out the one carriage return before each end of a line, that of the input included."""

    __slots__ = ("_end",)

    def __init__(self, inner: InputReader, separator: int) -> None:
        self._end = bytes((separator,))
        super().__init__(inner)

    def _filtered(self) -> Iterator[bytes]:
        waiting = b""  # a carriage return that was read last
        for piece in self._pieces():
            text = waiting + piece
            waiting = _CR if text.endswith(_CR) else b""
            yield text[: len(text) - len(waiting)].replace(_CR + self._end, self._end)
        if waiting:
            yield self._end


class Headers:
    """The headers of all inputs: the first line_n lines of each, and those behind them that begin with the prefix.
    text, n: that of the first input, each line with its end, and its lines; nothing before it has been read. Inputs may
    be read in any order and by several threads."""

    __slots__ = ("_first_name", "_line_n", "_lock", "_others", "_prefix", "_separator", "_warn", "n", "text")

    def __init__(
        self,
        first_name: bytes,
        line_n: int,
        prefix: bytes | None,
        separator: int,
        warn: Callable[[SortError], None],
    ) -> None:
        """warn: told of each later input whose header is another one."""
        self._first_name: bytes | None = first_name  # None when it has been read
        self._line_n = line_n
        self._prefix = prefix
        self._separator = bytes((separator,))
        self._warn = warn
        self._lock = allocate_lock()
        self._others: list[tuple[bytes, bytes]] = []  # that were read before the first
        self.text = b""
        self.n = 0

    def end(self, text: bytes, ended: bool) -> int | None:
        """Where the header ends in the text that an input begins with, None when that takes more of it. ended: there
        is no more."""
        at = n = 0
        while n < self._line_n or self._prefix is not None:
            if n >= self._line_n and self._prefix is not None and not text.startswith(self._prefix, at):
                may_follow = not ended and self._prefix.startswith(text[at:])
                return None if may_follow else at
            stop = text.find(self._separator, at)
            if stop < 0:
                return len(text) if ended else None
            at = stop + 1
            n += 1
        return at

    def found(self, name: bytes, header: bytes) -> None:
        """An input's header, which may be empty."""
        if header and not header.endswith(self._separator):
            header += self._separator
        with self._lock:
            if name == self._first_name:
                self._first_name, self.text, self.n = None, header, header.count(self._separator)
            else:
                self._others.append((name, header))
            others: list[tuple[bytes, bytes]] = []
            if self._first_name is None:
                others, self._others = self._others, []
        for other, text in others:
            if text and text != self.text:  # an empty input has none
                self._warn(SortError(shell_name(other), b": the header is not that of the first input"))


class HeaderLines(Filter):
    """Takes the header out, and tells it."""

    __slots__ = ("_headers",)

    def __init__(self, inner: InputReader, headers: Headers) -> None:
        self._headers = headers
        super().__init__(inner)

    def _filtered(self) -> Iterator[bytes]:
        text, end = b"", None
        pieces = self._pieces()
        while end is None:
            piece = next(pieces, b"")
            text += piece
            end = self._headers.end(text, ended=not piece)
        self._headers.found(self.name, text[:end])
        yield text[end:]
        yield from pieces
