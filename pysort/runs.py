"""Run generation: sort buffers filled from all inputs, sorted, and handed out as a memory run or as spilled runs."""

from __future__ import annotations

from pysort.arena import ALIGN_BYTES, Arena
from pysort.errors import SortError
from pysort.sortbuffer import SortBuffer
from pysort.storage.readers import LineReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Protocol

    from pysort.kernel import Order
    from pysort.plan import SortPlan
    from pysort.sorting import Sorting
    from pysort.stats import SortStats
    from pysort.storage.readers import InputReader
    from pysort.storage.runwriter import RunWriter
    from pysort.storage.spill import SpillSpace
    from pysort.storage.spillfile import SpilledRun
    from pysort.storage.workers import Workers

    class Readable(Protocol):
        """What lines come from: Inputs, or anything else that is read as they are and then given up."""

        def readinto(self, view: memoryview) -> int: ...

        def abandon(self) -> None: ...


class Inputs:
    """All inputs as one text: opened one at a time, in order, each line complete."""

    __slots__ = ("_names", "_open", "_reader", "_separator", "_stats")

    def __init__(
        self,
        names: Sequence[bytes],
        separator: int,
        open_input: Callable[[bytes], InputReader],
        stats: SortStats,
    ) -> None:
        self._stats = stats
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
                self._stats.input_bytes += n
                return n
            self.close()

    def close(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reader.close()

    def abandon(self) -> None:
        """close(), after an error."""
        try:
            self.close()
        except SortError:
            pass


class RunGenerator:
    """Lines that fit one sort buffer go to the output. Where there are more, and workers, two buffers share the memory:
    one is filled while the other is sorted and written, so that the disk is not idle while lines are sorted."""

    __slots__ = (
        "_arena",
        "_before_spilling",
        "_inputs",
        "_last_line",
        "_order",
        "_outs",
        "_plan",
        "_runs",
        "_sorting",
        "_spare",
        "_spill",
        "_stats",
        "_tick",
        "_workers",
        "_writer",
        "peak_bytes",
    )

    def __init__(
        self,
        order: Order,
        plan: SortPlan,
        arena: Arena,
        outs: list[memoryview],
        workers: Workers,
        inputs: Readable,
        spill: SpillSpace,
        stats: SortStats,
        before_spilling: Callable[[], None],
        tick: Callable[[], None],
    ) -> None:
        """arena, outs: for sort buffers and for what is being written, as the plan has them. before_spilling: called
        when it is known that there will be runs, and none is written yet. tick: called again and again, by the caller's
        thread."""
        self._order = order
        self._plan = plan
        self._arena = arena
        self._outs = outs
        self._workers = workers
        self._inputs = inputs
        self._spill = spill
        self._stats = stats
        self._before_spilling = before_spilling
        self._tick = tick
        self._spare: Arena | None = None
        self._runs: list[SpilledRun] = []
        self._writer: RunWriter | None = None  # of the run that is being written
        self._last_line: bytes | None = None  # of it, if it may go on
        self._sorting: Sorting | None = None  # of the one buffer that took everything
        self.peak_bytes = 0  # most that the arenas held

    def generate(self) -> list[SpilledRun]:
        """The spilled runs; none when everything fitted one buffer, whose lines are pieces() then. Raises SortError and
        whatever reading the inputs raises."""
        buffer = self._buffer(self._arena)
        try:
            ended = buffer.load(self._read)
            sorting = buffer.start_sort()
            while not ended and self._plan.top_fits(buffer.n, buffer.longest):
                buffer.begin(buffer, before=self._best(sorting))
                ended = buffer.load(self._read)
                sorting = buffer.start_sort()
            if ended:
                self._sorting = sorting
                self._stats.longest_line_bytes = buffer.longest
                return []
            return self._spill_all(buffer, sorting)
        finally:
            self._inputs.abandon()

    def _read(self, view: memoryview) -> int:
        n = self._inputs.readinto(view)
        self._tick()
        return n

    def pieces(self) -> Generator[memoryview]:
        """All lines, where there are no runs. A piece is good until the next one is asked for."""
        if self._sorting is not None:
            yield from self._sorting.pieces(self._outs, self._plan.top_n)

    def _buffer(self, arena: Arena) -> SortBuffer:
        return SortBuffer(self._order, arena, self._workers, min(self._plan.read_bytes, arena.size // 16 + 1))

    def _best(self, sorting: Sorting) -> bytes:
        """The lines of a buffer that may be among those that are wanted."""
        return b"".join(map(bytes, sorting.pieces(self._outs, self._plan.top_n)))

    def _spill_all(self, full: SortBuffer, sorting: Sorting) -> list[SpilledRun]:
        """full: has the whole memory and is being sorted, and more follows."""
        read = self._read
        self._before_spilling()
        self._write(full, sorting)
        buffer, other = self._share_memory(full)
        ended = buffer.load(read)
        sorting = buffer.start_sort()
        while buffer.n:
            is_last, following = ended, None
            if not is_last and other is not buffer:
                other.begin(buffer)
                ended = other.load(read)
                sorting.end_sort()
                following = other.start_sort()  # while this one is written
            self._write(buffer, sorting)
            if is_last:
                break
            if following is None:
                buffer.begin(buffer)
                ended = buffer.load(read)
                following = buffer.start_sort()
            buffer, other, sorting = other, buffer, following
        self.close()
        self._finish_run()
        return self._runs

    def _share_memory(self, full: SortBuffer) -> tuple[SortBuffer, SortBuffer]:
        """The buffers that take turns from now on, twice the same without workers; the first of them has begun."""
        if not self._workers.n:
            full.begin(full)
            return full, full
        half = self._arena.size // 2 // ALIGN_BYTES * ALIGN_BYTES
        full.forget_lines(half)
        self._spare = Arena(half)
        buffer = self._buffer(self._spare)
        buffer.begin(full)
        self._arena.resize(half)
        return buffer, self._buffer(self._arena)

    def _write(self, buffer: SortBuffer, sorting: Sorting) -> None:
        """Spill the sorted lines: as a run, or behind the last run if they follow its lines, as all do in an input that
        is in order already."""
        ends = sorting.ends()
        if self._last_line is None or ends is None or not self._order.follows(self._last_line, ends[0]):
            self._finish_run()
        if self._writer is None:
            self._writer = self._spill.start_run(self._workers)
        for piece in sorting.pieces(self._outs, self._plan.top_n):
            self._writer.write(piece)
            self._tick()
        self._last_line = None if ends is None else ends[1]
        spare_bytes = 0 if self._spare is None else self._spare.size
        self.peak_bytes = max(self.peak_bytes, self._arena.size + spare_bytes)
        self._stats.longest_line_bytes = max(self._stats.longest_line_bytes, buffer.longest)

    def _finish_run(self) -> None:
        if self._writer is not None:
            self._runs.append(self._writer.finish())
            self._writer = None

    def close(self) -> None:
        """No job may be under way."""
        if self._spare is not None:
            self._spare.close()
            self._spare = None
