"""The lines of a full sort buffer on their way into order and to the output."""

from __future__ import annotations

import struct
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.storage.workers import Job, Workers

LARGEST_END_BYTES = 64 << 10  # of a line that is compared with the next run's
GLANCE_N = 1024  # records that are looked at before all are, to see whether lines are in order already
LEAST_LEAF_N = 8192  # records: less is not worth a thread's while
LEAVES_N = 8  # for each thread, so that they end at about the same time

_RECORD = struct.Struct("=8x2I")  # offset, length
_PART = struct.Struct("=3QqQ")  # struct ps_part: start, n, depth, shift, flags
_FIRST_SHIFT = 56
_DESCENDING, _SORTED = 1, 4  # flags
_PARTS_N = 256


class Sorting:
    """Sorting n records at the top of the arena, which has begun when this has been made."""

    __slots__ = ("_arena", "_jobs", "_kept", "_order", "_text_bytes", "_workers", "n")

    def __init__(self, order: Order, arena: Arena, workers: Workers, n: int, text_bytes: int) -> None:
        """text_bytes: of their lines."""
        self._order = order
        self._arena = arena
        self._workers = workers
        self._text_bytes = text_bytes
        self._jobs: list[Job] = []  # that sort
        self._kept: int | None = None  # records that are left when they have
        self.n = n
        self._start()

    def _start(self) -> None:
        n = self.n
        direction = self._direction()
        if direction > 0:
            self._sort_parts([_PART.pack(0, n, 0, _FIRST_SHIFT, _DESCENDING | _SORTED)], n)
        elif direction < 0:  # as they lie
            parts = [_PART.pack(first, stop - first, 0, _FIRST_SHIFT, _SORTED) for first, stop in self._ranges()]
            self._sort_parts(parts, n // max(self._workers.n, 1))
        elif self._workers.n > 1 and n > LEAST_LEAF_N:
            self._split_together(max(n // (self._workers.n * LEAVES_N), LEAST_LEAF_N))
        else:
            self._sort_parts([_PART.pack(0, n, 0, _FIRST_SHIFT, _DESCENDING)], n)

    def _direction(self) -> int:
        """1 if the lines are in order already, -1 if each is less than the one before it, else 0."""
        direction = self._direction_of(0, min(self.n, GLANCE_N))
        if not direction or self.n <= GLANCE_N:
            return direction
        jobs = [
            self._workers.submit(lambda first=first, stop=stop: self._direction_of(first, stop))  # type: ignore[misc]
            for first, stop in self._ranges()
        ]
        found = {job.wait() for job in jobs}
        return direction if found == {direction} else 0

    def _direction_of(self, first: int, stop: int) -> int:
        """The same of records first..stop-1 and the one before them."""
        first = max(first - 1, 0)
        order, top = self._order, self._arena.size - first * _RECORD.size
        result: int = order.kernel.presorted(order.program, order.locale, self._arena.view, top, stop - first)
        return result

    def _ranges(self) -> list[tuple[int, int]]:
        """All records, shared out among the workers."""
        n = max(self._workers.n, 1)
        return [(self.n * i // n, self.n * (i + 1) // n) for i in range(n)]

    def end_sort(self) -> int:
        """Wait for it. Returns how many records are kept."""
        for job in self._jobs:  # while jobs add more
            job.wait()
        if self._kept is None:
            self._kept = self._order.kernel.drop(self._order.program, self._arena.view, self._arena.size, self.n)
        return self._kept

    @property
    def _records(self) -> tuple[bytes, object, memoryview, int, int]:
        """What the kernel's functions that sort begin with."""
        return self._order.program, self._order.locale, self._arena.view, self._arena.size, self.n

    def _sort_parts(self, parts: list[bytes], leaf_n: int) -> None:
        """Have the parts sorted. Those of more than leaf_n records are split, and add jobs for what they leave."""
        kernel, at = self._order.kernel, self._records

        def work(parts: list[bytes]) -> int:
            for part in parts:
                if _PART.unpack(part)[1] <= leaf_n:
                    kernel.sort_part(*at, part)
                else:
                    made = bytearray(_PARTS_N * _PART.size)
                    part_n = kernel.split(*at, part, made)
                    self._sort_parts([bytes(made[i * _PART.size :][: _PART.size]) for i in range(part_n)], leaf_n)
            return 0

        for share in _shares(parts, leaf_n):
            self._jobs.append(self._workers.submit(lambda share=share: work(share)))  # type: ignore[misc]

    def _split_together(self, leaf_n: int) -> None:
        """As _sort_parts() with all records, of which all workers make the first step together."""
        from pysort.firststep import FirstStep

        step = FirstStep(self._order, self._arena, self.n, self._ranges())

        def when_found() -> None:
            if step.difference:
                self._together(step.count, when_counted)
            else:  # keys that begin alike are for one of them
                self._sort_parts([_PART.pack(0, self.n, 0, _FIRST_SHIFT, _DESCENDING)], leaf_n)

        def when_counted() -> None:
            step.share_out()
            self._together(step.distribute, lambda: self._sort_parts(step.parts, leaf_n))

        self._together(step.find, when_found)

    def _together(self, call: Callable[[int], None], then: Callable[[], None]) -> None:
        """Have it called with the number of each range; whoever ends last calls then()."""
        lock, left = allocate_lock(), self._workers.n

        def work(i: int) -> int:
            nonlocal left
            call(i)
            with lock:
                left -= 1
                is_last = not left
            if is_last:
                then()
            return 0

        for i in range(self._workers.n):
            self._jobs.append(self._workers.submit(lambda i=i: work(i)))  # type: ignore[misc]

    def ends(self) -> tuple[bytes, bytes] | None:
        """The first and the last line of the sorted buffer, if there are any and they are not too long to be copied."""
        kept = self.end_sort()
        view, lines = self._arena.view, []
        for index in (0, kept - 1) if kept else ():
            start, length = _RECORD.unpack_from(view, self._arena.size - (self.n - index) * _RECORD.size)
            if length > LARGEST_END_BYTES:
                return None
            lines.append(bytes(view[start : start + length]))
        return (lines[0], lines[1]) if lines else None

    def pieces(self, outs: list[memoryview], top_n: int | None = None) -> Generator[memoryview]:
        """The sorted lines, the first top_n of them, in order and in pieces of at most an out. A piece is good until
        the next one is asked for; workers fill others meanwhile."""
        n = kept = self.end_sort()
        if top_n is not None:
            n = kept = min(kept, top_n)
        if self._workers.n:
            n = max(int(0.95 * len(outs[0]) * self.n / max(self._text_bytes, 1)), 1)
        batches: list[Batch] = []
        first, free = 0, list(outs)
        while True:
            while free and first < kept:
                batches.append(self._gather(Batch(first, min(n, kept - first), free.pop())))
                first += n
            if not batches:
                return
            batch = batches.pop(0)
            yield batch.wait()
            while not batch.is_done:
                yield self._gather(batch).wait()
            free.append(batch.out)

    def _gather(self, batch: Batch) -> Batch:
        """Begin to put the batch's next lines into its out."""
        order, view = self._order, self._arena.view
        records_at = self._arena.size - (self.n - batch.first) * _RECORD.size

        def gather() -> int:
            batch.index, batch.skip, batch.used = order.kernel.gather(
                order.program, view, records_at, batch.n, batch.index, batch.skip, batch.out
            )
            return 0

        batch.job = self._workers.submit(gather, urgent=True)
        return batch


class Batch:
    """Sorted lines first..first+n-1 on their way to the output: `index` and `skip` as the kernel's gather leaves them,
    `used` bytes in `out`."""

    __slots__ = ("first", "index", "job", "n", "out", "skip", "used")

    def __init__(self, first: int, n: int, out: memoryview) -> None:
        self.first = first
        self.n = n
        self.out = out
        self.index = self.skip = self.used = 0
        self.job: Job | None = None

    def wait(self) -> memoryview:
        """What has been gathered."""
        if self.job is not None:
            self.job.wait()
        return self.out[: self.used]

    @property
    def is_done(self) -> bool:
        """Whether that was the last of the batch."""
        return self.index == self.n


def _shares(parts: list[bytes], leaf_n: int) -> list[list[bytes]]:
    """The parts in groups of leaf_n records or a little more."""
    shares: list[list[bytes]] = []
    n = leaf_n
    for part in parts:
        if n >= leaf_n:
            shares.append([])
            n = 0
        shares[-1].append(part)
        n += _PART.unpack(part)[1]
    return shares
