"""Merging runs and inputs: one window of the arena for each, filled again whenever the loser tree finds it empty."""

from __future__ import annotations

import struct

from pysort.arena import LineBuffer, align
from pysort.errors import SortError
from pysort.plan import LARGEST_ARENA_BYTES, MERGE_RECORD_BYTES
from pysort.storage.readers import LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.stats import SortStats
    from pysort.storage.forecast import Forecast
    from pysort.storage.readers import InputReader
    from pysort.storage.runreader import RunReader

_CURSOR = struct.Struct("=5Q")  # struct ps_cursor: base, top, n, next, last


_UNKNOWN_BYTES = 1 << 63


class InputRun(LineReader):
    """An input under -m, as a merge reads it, sorted or not. block_bytes: the least that is worth a read."""

    __slots__ = ("_stats", "block_bytes")

    def __init__(self, reader: InputReader, separator: int, block_bytes: int, stats: SortStats) -> None:
        super().__init__(reader, separator)
        self.block_bytes = block_bytes
        self._stats = stats

    @property
    def remaining(self) -> int:
        """Not known before the end, which only a read finds."""
        return 0 if self.ended else _UNKNOWN_BYTES

    def readinto(self, view: memoryview) -> int:
        n = super().readinto(view)
        self._stats.input_bytes += n
        return n

    def release(self) -> None:
        """Nothing to give back: the file is the user's."""

    @property
    def stored_position(self) -> int:
        return 0

    def prefetch(self, start: int, stop: int) -> None:
        """Nothing to ask for: the kernel reads ahead of each input by itself."""


if TYPE_CHECKING:
    Reader = RunReader | InputRun


class Merge:
    """One merge of several runs.

    readers: one for each run or input, in the order in which equal lines come out. window_bytes: for each of them; all
    of them fit the arena. forecast: over the same readers, if they are to be read ahead.
    """

    __slots__ = ("_arena", "_bases", "_buffers", "_cursors", "_forecast", "_order", "_readers", "_state")

    def __init__(
        self,
        order: Order,
        arena: Arena,
        readers: Sequence[Reader],
        window_bytes: int,
        forecast: Forecast | None = None,
    ) -> None:
        n = len(readers)
        self._order = order
        self._arena = arena
        self._readers = readers
        self._forecast = forecast
        self._bases = [i * window_bytes for i in range(n)]
        self._buffers = [
            LineBuffer(order, arena.view[base : base + window_bytes], MERGE_RECORD_BYTES) for base in self._bases
        ]
        self._cursors = bytearray(n * _CURSOR.size)
        self._state = bytearray(order.kernel.merge_state_bytes(n))

    def run(self, out: memoryview, write: Callable[[memoryview], None]) -> None:
        """Merge everything, handing the lines to `write` in pieces of at most len(out)."""
        kernel = self._order.kernel
        for i in range(len(self._readers)):
            self._feed(i)
        filled = 0
        while True:
            status, used = kernel.merge(
                self._order.program,
                self._order.locale,
                self._arena.view,
                self._cursors,
                len(self._readers),
                self._state,
                out[filled:],
            )
            filled += used
            if status >= 0:
                self._feed(status)
                continue
            write(out[:filled])
            filled = 0
            if status == kernel.MERGE_DONE:
                return

    def _feed(self, i: int) -> None:
        """Bring the next lines of run i into its window: one at least, unless the run is at its end."""
        buffer, reader = self._buffers[i], self._readers[i]
        # Under -u the line read last stays: the next one is compared with it.
        kept = int(self._order.unique and buffer.n > 0)
        buffer.carry(buffer.view, keep_last=bool(kept))
        while True:
            self._read(buffer, reader)
            fits = buffer.split()
            at_end = not reader.remaining and buffer.scanned == buffer.stop
            if buffer.n > kept or at_end:
                break
            if not fits or not self._has_room(buffer, reader):
                self._grow(i)
        reader.release()
        if self._forecast is not None:
            self._forecast.fed(i, buffer)
        _CURSOR.pack_into(
            self._cursors,
            i * _CURSOR.size,
            self._bases[i],
            buffer.top,
            buffer.n,
            kept,
            at_end,
        )

    def _room(self, buffer: LineBuffer) -> int:
        """Half a window is for text, the other half for records and keys."""
        return buffer.top // 2 - buffer.stop

    def _has_room(self, buffer: LineBuffer, reader: Reader) -> bool:
        return self._room(buffer) >= min(reader.block_bytes, reader.remaining)

    def _read(self, buffer: LineBuffer, reader: Reader) -> None:
        if reader.remaining and self._has_room(buffer, reader):
            buffer.stop += reader.readinto(buffer.view[buffer.stop :][: self._room(buffer)])

    def _grow(self, i: int) -> None:
        """Move window i, which a single line fills, behind the arena and double it."""
        base = align(self._arena.size)
        size = 2 * self._buffers[i].top
        if size > LARGEST_ARENA_BYTES:
            raise SortError(b"memory exhausted: a line of more than 2 GiB")
        sizes = [buffer.top for buffer in self._buffers]
        for buffer in self._buffers:
            buffer.view.release()
        self._arena.resize(base + size)
        view = self._arena.view
        for buffer, start, length in zip(self._buffers, self._bases, sizes, strict=True):
            buffer.view = view[start : start + length]
        self._buffers[i].carry(view[base : base + size], keep_last=self._order.unique)
        self._arena.forget(self._bases[i], self._bases[i] + sizes[i])
        self._bases[i] = base

    @property
    def longest(self) -> int:
        """Length of the longest line so far."""
        return max(buffer.longest for buffer in self._buffers)

    def close(self) -> None:
        for buffer in self._buffers:
            buffer.view.release()
        for reader in self._readers:
            reader.close()
