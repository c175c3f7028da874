"""Merging in rounds: what the windows of all runs have in common, in parts of equal size, a job for each part.

A round takes the records that may be merged before any run is read on. It is cut at records of the runs, under the
whole order of a merge: key, run, place in it; under -u no cut goes through lines that are equal. So the parts, one
after the other, are what a single merge puts out.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.storage.workers import Job, Workers

LEAST_PART_N = 2048  # records: with fewer the cuts and the jobs cost more than a second thread saves
FIRST_LINE_BYTES = 64  # as long as nothing is known of the lines
# Of a round, for each worker: the more there are the less often all wait for the last one, but the later what is merged
# makes room for more. Of a merge of 20 runs workers are busy for 0.6 with a single part, for 0.9 with 8, and 4 take as
# long as these.
PARTS_N = 4
FILL = 0.9  # of an output buffer: a part that is longer than that waits for its turn when the buffer is full

# struct ps_cursor is 5 words: base, top, n, next, last.
_MERGE = struct.Struct("=5Q")  # struct ps_merge: started, hungry, skip, emitted, count


class Outs:
    """The output buffers. What has been taken and put back last is taken last again: somebody may still write it."""

    __slots__ = ("_free", "size")

    def __init__(self, views: Sequence[memoryview]) -> None:
        self._free = list(views)
        self.size = len(views[0])  # of each

    def take(self) -> memoryview:
        return self._free.pop(0)

    def put_back(self, view: memoryview) -> None:
        self._free.append(view)

    def put_first(self, view: memoryview) -> None:
        """Nothing was put into it."""
        self._free.insert(0, view)


class Part:
    """n records of a round. Its cursors end where the next part's begin. out, used: of the last call of merge()."""

    __slots__ = ("cursors", "job", "n", "out", "state", "used")

    def __init__(self, cursors: bytearray, state: bytearray, n: int) -> None:
        self.cursors = cursors
        self.state = state
        self.n = n
        self.out: memoryview
        self.used = 0
        self.job: Job | None = None


class Rounds:
    """Rounds of one merge of sorted runs: prepare(), start() and pieces(), as long as prepare() returns True. After
    each the merge goes on from `end`."""

    __slots__ = (
        "_arena",
        "_bytes",
        "_cursor_n",
        "_cursors",
        "_lines_n",
        "_order",
        "_out_bytes",
        "_outs",
        "_pack",
        "_parts",
        "_places",
        "_refusals_n",
        "_rest",
        "_state",
        "_words",
        "_workers",
        "end",
    )

    def __init__(self, order: Order, arena: Arena, workers: Workers, outs: Outs, run_n: int, state: bytearray) -> None:
        """state: of that merge, changed in place. outs: one more than there are workers."""
        self._order = order
        self._arena = arena
        self._workers = workers
        self._outs = outs
        self._out_bytes = outs.size
        self._cursors = bytearray()
        self._words: list[int] = []  # of the cursors
        self._pack = struct.Struct(f"={5 * 2 * run_n}Q").pack
        self._cursor_n = 2 * run_n
        self._state = state
        self._places = bytearray(8 * self._cursor_n)
        self._parts: list[Part] = []  # of the round
        self._refusals_n = 0  # one after the other
        self._rest = 0  # calls for which it is not tried
        self._bytes, self._lines_n = FIRST_LINE_BYTES, 1  # that were put out
        self.end: list[int] = []  # where the round ends, by cursor

    def are_due(self) -> bool:
        """Whether it is worth a try: after many refusals it is not, for a while."""
        self._rest = max(self._rest - 1, 0)
        return not self._rest

    def prepare(self, cursors: bytearray) -> bool:
        """Whether there is enough for a round, no job having begun. cursors: two for each run, its lines and those that
        follow them."""
        self._cursors = cursors
        self._words = memoryview(cursors).cast("Q").tolist()
        starts = self._words[3::5]
        stops = self._bound()
        n = sum(stops) - sum(starts)
        if n >= self._workers.n * LEAST_PART_N:
            for cut in self._cuts(starts, stops, n):
                if cut != starts:
                    self._parts.append(self._part(starts, cut))
                    starts = cut
            self.end = starts
        self._refusals_n = 0 if self._parts else self._refusals_n + 1
        if self._refusals_n > self._cursor_n // 2:
            self._rest = self._refusals_n = self._cursor_n // 2
        return bool(self._parts)

    def start(self) -> None:
        """One part for each worker. No other output buffer is taken than the one that was put back last."""
        skip, emitted, count = _MERGE.unpack_from(self._state)[2:]
        # It goes on where the merge has stopped, which has one cursor for each run.
        _MERGE.pack_into(self._parts[0].state, 0, 0, 0, skip, max(2 * emitted - 1, 0), count)
        for part in self._parts[: self._workers.n]:
            self._merge(part, self._outs.take())

    def pieces(self) -> Generator[memoryview]:
        """The lines of the round, in pieces as those of a merge. When a part is done the next one begins."""
        emitted = 0
        for i, part in enumerate(self._parts):
            while self._wait_for(part) != self._order.kernel.MERGE_DONE:
                yield part.out[: part.used]
                self._outs.put_back(part.out)
                self._merge(part, self._outs.take())
            if part.used:
                yield part.out[: part.used]
            self._outs.put_back(part.out)
            for following in self._parts[i + self._workers.n : i + self._workers.n + 1]:
                self._merge(following, self._outs.take())
            self._lines_n += part.n
            emitted = _MERGE.unpack_from(part.state)[3] or emitted
        self._parts = []
        _MERGE.pack_into(self._state, 0, 0, 0, 0, (emitted + 1) // 2, 0)

    def close(self) -> None:
        """No job is under way any more."""
        parts, self._parts = self._parts, []
        for part in parts:
            if part.job is not None:
                part.job.give_up()

    def _bound(self) -> list[int]:
        order = self._order
        order.kernel.bound(order.program, order.locale, self._arena.view, self._cursors, self._cursor_n, self._places)
        return memoryview(self._places).cast("Q").tolist()

    def _cut(self, at: int, index: int) -> list[int]:
        order = self._order
        order.kernel.cut(
            order.program, order.locale, self._arena.view, self._cursors, self._cursor_n, at, index, self._places
        )
        return memoryview(self._places).cast("Q").tolist()

    def _cuts(self, starts: list[int], stops: list[int], n: int) -> list[list[int]]:
        """Where the parts end: one for each worker at least, and each of what an output buffer holds or less. Of all
        runs as much is taken to be merged as of the longest."""
        out_n = FILL * self._out_bytes * self._lines_n / self._bytes  # records
        part_n = self._workers.n * max(min(int(n / out_n / self._workers.n), PARTS_N), 1)
        share = min(part_n * out_n / n, 1.0)
        lengths = [stop - start for start, stop in zip(starts, stops, strict=True)]
        longest = max(range(0, self._cursor_n, 2), key=lambda i: lengths[i] + lengths[i + 1])
        cuts = []
        for i in range(1, part_n + 1):
            at, index = longest, int((lengths[longest] + lengths[longest + 1]) * share * i / part_n)
            if index >= lengths[at]:
                at, index = longest + 1, index - lengths[at]
            if index < lengths[at]:
                places = self._cut(at, starts[at] + index)
                cuts.append([min(place, stop) for place, stop in zip(places, stops, strict=True)])
            else:
                cuts.append(stops)
        return cuts

    def _part(self, starts: list[int], stops: list[int]) -> Part:
        words = self._words  # all at once, since it is done for hundreds of cursors while workers wait
        words[2::5], words[3::5], words[4::5] = stops, starts, [1] * self._cursor_n
        state = bytearray(self._order.kernel.merge_state_bytes(self._cursor_n))
        return Part(bytearray(self._pack(*words)), state, sum(stops) - sum(starts))

    def _merge(self, part: Part, out: memoryview) -> None:
        order, view, part.out = self._order, self._arena.view, out

        def call() -> int:
            status, part.used = order.kernel.merge(
                order.program, order.locale, view, part.cursors, self._cursor_n, part.state, out
            )
            return int(status)

        part.job = self._workers.submit(call, urgent=True)

    def _wait_for(self, part: Part) -> int:
        """What merge() has returned."""
        if part.job is None:
            return 0
        status, part.job = part.job.wait(), None
        self._bytes += part.used
        return status
