"""Run generation: fill the sort buffer, sort it, and hand its lines out as a memory run or a spilled run."""

from __future__ import annotations

from pysort.arena import LineBuffer
from pysort.plan import SORT_RECORD_BYTES
from pysort.storage.readers import LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.stats import SortStats
    from pysort.storage.readers import InputReader


class Inputs:
    """All inputs as one text: opened one at a time, in order, each line complete."""

    __slots__ = ("_names", "_open", "_reader", "_separator")

    def __init__(self, names: Sequence[bytes], separator: int, open_input: Callable[[bytes], InputReader]) -> None:
        self._names = iter(names)
        self._separator = separator
        self._open = open_input
        self._reader: LineReader | None = None

    def readinto(self, view: memoryview) -> int:
        """Read the next bytes into the front of a view that is not empty. Returns how many, 0 at the end of all
        inputs."""
        while True:
            if self._reader is None:
                name = next(self._names, None)
                if name is None:
                    return 0
                self._reader = LineReader(self._open(name), self._separator)
            n = self._reader.readinto(view)
            if n:
                return n
            self.close()

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


class RunGenerator:
    """Call load(), sort(), write() in turn until load() has returned True."""

    __slots__ = ("_arena", "_buffer", "_inputs", "_kept", "_order", "_read_bytes", "_stats")

    def __init__(self, order: Order, arena: Arena, inputs: Inputs, read_bytes: int, stats: SortStats) -> None:
        self._order = order
        self._arena = arena
        self._inputs = inputs
        self._read_bytes = read_bytes
        self._stats = stats
        self._buffer = LineBuffer(order, arena.view[:], SORT_RECORD_BYTES)
        self._kept = 0

    def load(self) -> bool:
        """Fill the sort buffer. True when the inputs have ended and all that was left of them is in it."""
        buffer = self._buffer
        buffer.carry(buffer.view)
        while True:
            full = not buffer.split()
            room = buffer.room()
            if full or room <= 0:
                if buffer.n:
                    return False
                self._arena.double(buffer)
                continue
            n = self._inputs.readinto(buffer.view[buffer.stop :][: min(room, self._read_bytes)])
            if n == 0:
                return True
            self._stats.input_bytes += n
            buffer.stop += n

    def sort(self) -> None:
        buffer = self._buffer
        self._stats.longest_line_bytes = buffer.longest
        self._kept = self._order.kernel.sort(self._order.program, self._order.locale, buffer.view, buffer.top, buffer.n)

    def write(self, out: memoryview, write: Callable[[memoryview], None]) -> None:
        """Hand the sorted lines to `write`, in pieces of at most len(out)."""
        order, buffer = self._order, self._buffer
        records_at = buffer.top - buffer.n * (SORT_RECORD_BYTES // 2)
        index = skip = 0
        while index < self._kept:
            index, skip, used = order.kernel.gather(
                order.program, buffer.view, records_at, self._kept, index, skip, out
            )
            write(out[:used])

    def close(self) -> None:
        self._inputs.close()
        self._buffer.view.release()
