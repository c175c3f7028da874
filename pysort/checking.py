"""Checking order, for -c and -C: one input, read no further than to the first line that is out of order.

Chunks of it, each in an arena of its own, take turns: while workers look at some, the next one is read.

    | line before | lines of the chunk ... | incomplete line |  free, for keys and records |
    0                    last ^        end ^            stop ^

What lies behind `last` is copied to where the next chunk begins, so that each can be looked at by itself.
"""

from __future__ import annotations

from pysort.arena import ALIGN_BYTES, Arena, LineBuffer
from pysort.errors import ASCII_PRINTABLE, SortError
from pysort.plan import CHECK_RECORD_BYTES
from pysort.storage.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pysort.errors import Quoted
    from pysort.kernel import Order
    from pysort.storage.readers import LineReader
    from pysort.storage.workers import Job


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


class Chunk:
    """Lines that follow one another, the last one of the chunk before included. When check() has returned line_n of
    them are known to be in order; disorder is the one behind those, None when all are."""

    __slots__ = ("_arena", "_end", "_last", "_order", "_stop", "disorder", "line_n")

    def __init__(self, order: Order, arena: Arena) -> None:
        self._arena = arena
        self._end = self._last = self._stop = 0
        self._order = order
        self.disorder: bytes | None = None
        self.line_n = 0

    @property
    def is_loaded(self) -> bool:
        """Whether there are lines to be looked at."""
        return self._end > 0

    def begin(self, behind: Chunk) -> None:
        self._end = self._stop = 0
        size = behind._stop - behind._last
        while size > self._arena.size:
            self._arena.double()
        self._arena.view[:size] = behind._arena.view[behind._last : behind._stop]
        self._stop = size

    def load(self, reader: LineReader, read_bytes: int) -> bool:
        """Read until a line is complete. False when nothing follows."""
        while not self._end:
            limit = self._arena.size // 2 if self._order.keyed else self._arena.size
            room = limit - self._stop
            if room <= 0:
                self._arena.double()
                continue
            with self._arena.view[self._stop : self._stop + min(room, read_bytes)] as free:
                n = reader.readinto(free)
            if not n:
                return False
            self._stop += n
            self._end = self._arena.rfind(self._order.separator, self._stop - n, self._stop) + 1
        self._last = self._arena.rfind(self._order.separator, 0, self._end - 1) + 1
        return True

    def check(self) -> int:
        if self._order.keyed:
            self._check_keys()
        else:
            self._check_text()
        return 0

    def _check_text(self) -> None:
        order, view = self._order, self._arena.view
        self.line_n, at = order.kernel.check_text(order.program, view, 0, self._end)
        if at < self._end:
            stop = self._arena.find(order.separator, at, self._end)
            self.disorder = bytes(view[at:stop])

    def _check_keys(self) -> None:
        """By as many records at a time as there is room for."""
        order = self._order
        buffer = LineBuffer(order, self._arena.view[:], CHECK_RECORD_BYTES)
        buffer.stop = self._end
        self.line_n = kept_n = 0
        try:
            while True:
                fits = buffer.split()
                at = order.kernel.check(order.program, order.locale, buffer.view, buffer.top, buffer.n)
                self.line_n += at - kept_n
                if at < buffer.n:
                    start, length = buffer.line(at)
                    self.disorder = bytes(buffer.view[start : start + length])
                if fits or at < buffer.n:
                    return
                is_stuck = buffer.n == kept_n
                kept_n = int(buffer.n > 0)
                buffer.take_over(buffer, keep_last=True)
                if is_stuck:
                    buffer.view.release()
                    self._arena.double()
                    buffer.view = self._arena.view[:]
        finally:
            buffer.view.release()


class Checker:
    """Reads an input chunk by chunk, and has thread_n workers look at them. Without workers each is looked at before
    more is read; with them up to thread_n that were read are not looked at yet."""

    __slots__ = ("_arenas", "_chunks", "_failure", "_line_n", "_pending", "_read_bytes", "_workers")

    def __init__(self, order: Order, arena_bytes: int, read_bytes: int, thread_n: int) -> None:
        """arena_bytes: of all arenas. read_bytes: most that one read asks for. Raises SortError."""
        self._read_bytes = read_bytes
        self._failure: SortError | None = None
        self._line_n = 0  # in order, before the first chunk that is pending
        self._pending: list[tuple[Chunk, Job]] = []
        self._workers = Workers(thread_n)
        n = self._workers.n + 2  # those that are pending, one that was read, and the one behind it
        size = max(arena_bytes // n // ALIGN_BYTES, 1) * ALIGN_BYTES
        self._arenas = [Arena(size) for _ in range(n)]
        self._chunks = [Chunk(order, arena) for arena in self._arenas]  # that are not pending

    def check(self, reader: LineReader) -> tuple[int, bytes] | None:
        """Number, counted from 1, and text of the first line that is out of order with the one before it; None when
        there is none. Raises SortError."""
        found = None
        while found is None and self._read(reader):
            found = self._look(self._workers.n)
        if found is None:
            found = self._look(0)
        if found is None and self._failure is not None:
            raise self._failure
        return found

    def _read(self, reader: LineReader) -> bool:
        """Read a chunk, and have it looked at. False when there will be no more."""
        chunk, following = self._chunks[:2]
        try:
            if not chunk.load(reader, self._read_bytes):
                return False
            following.begin(chunk)
        except SortError as failure:  # which matters if the lines before it are in order
            self._failure = failure
        if chunk.is_loaded:
            del self._chunks[0]
            self._pending.append((chunk, self._workers.submit(chunk.check)))
        return self._failure is None

    def _look(self, most_n: int) -> tuple[int, bytes] | None:
        """What the pending chunks have shown, as check() does; most_n of them need not be done yet."""
        while self._pending and (len(self._pending) > most_n or self._pending[0][1].is_done):
            chunk, job = self._pending.pop(0)
            self._chunks.append(chunk)
            job.wait()
            if chunk.disorder is not None:
                return self._line_n + chunk.line_n + 1, chunk.disorder
            self._line_n += chunk.line_n - 1  # the last one is in the next chunk too
        return None

    def close(self) -> int:
        """Returns when every worker has ended: the bytes that the arenas took."""
        self._workers.close()
        for arena in self._arenas:
            arena.close()
        return sum(arena.peak_bytes for arena in self._arenas)
