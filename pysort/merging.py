"""Merging runs and inputs: one window of the arena for each, filled again whenever the loser tree finds it empty.

Where there are workers a window has two halves: while the lines of one are merged, a worker fills the other. A run that
somebody else has to bring (a pipe), or a program to decompress, is read when its lines are needed, and not before.
"""

from __future__ import annotations

import struct

from pysort.arena import LineBuffer, align
from pysort.errors import SortError
from pysort.inputrun import InputRun
from pysort.plan import LARGEST_ARENA_BYTES, MERGE_RECORD_BYTES
from pysort.rounds import Outs, Rounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.storage.forecast import Forecast
    from pysort.storage.runreader import RunReader
    from pysort.storage.workers import Job, Workers

    Reader = RunReader | InputRun

_CURSOR = struct.Struct("=5Q")  # struct ps_cursor: base, top, n, next, last
_READY, _TOO_LONG = 0, 1  # how filling ends: with lines, or with a line that has no room


class Lines:
    """The lines of one run that are in memory. buffer: those that are merged; spare: where the next ones are being put
    by `job`, or None where there is one window. kept: whether record 0 has been written already. ended: nothing follows
    those in the buffer."""

    __slots__ = ("base", "buffer", "ended", "job", "kept", "reader", "spare", "spare_base")

    def __init__(
        self, reader: Reader, buffer: LineBuffer, base: int, spare: LineBuffer | None, spare_base: int
    ) -> None:
        self.reader = reader
        self.buffer = buffer
        self.base = base
        self.spare = spare
        self.spare_base = spare_base
        self.job: Job | None = None
        self.kept = 0
        self.ended = False


class Merge:
    """One merge of several runs.

    readers: one for each run or input, in the order in which equal lines come out. window_bytes: for each of them; all
    of them fit the arena. outs: what is written from, one more than there are workers. longest_line: as far as it is
    known. forecast: over the same readers, if they are to be read ahead. are_sorted: whether each of them is, so that
    several threads can merge.
    """

    __slots__ = (
        "_arena",
        "_cursors",
        "_forecast",
        "_lines",
        "_order",
        "_outs",
        "_rounds",
        "_state",
        "_text_share",
        "_workers",
    )

    def __init__(
        self,
        order: Order,
        arena: Arena,
        workers: Workers,
        readers: Sequence[Reader],
        window_bytes: int,
        outs: Sequence[memoryview],
        longest_line: int,
        forecast: Forecast | None = None,
        *,
        are_sorted: bool = False,
    ) -> None:
        self._order = order
        self._arena = arena
        self._workers = workers
        self._outs = Outs(outs)
        self._forecast = forecast
        self._text_share = 0.5  # of a window
        half = window_bytes // 2 - window_bytes // 2 % 64
        has_halves = workers.n > 0 and half >= 4 * longest_line + 4 * max(reader.block_bytes for reader in readers)
        self._lines = []
        for i, reader in enumerate(readers):
            base = i * window_bytes
            if has_halves and not reader.may_wait:
                buffers = self._window(reader, base, half), self._window(reader, base + half, half)
                self._lines.append(Lines(reader, buffers[0], base, buffers[1], base + half))
            else:
                self._lines.append(Lines(reader, self._window(reader, base, window_bytes), base, None, 0))
        self._cursors = bytearray(len(readers) * _CURSOR.size)
        self._state = bytearray(order.kernel.merge_state_bytes(len(readers)))
        self._rounds: Rounds | None = None
        if are_sorted and workers.n > 1 and has_halves:
            self._rounds = Rounds(order, arena, workers, self._outs, len(readers), self._state)

    def _window(self, reader: Reader, base: int, size: int) -> LineBuffer:
        counted = self._order.counts and not isinstance(reader, InputRun)
        return LineBuffer(self._order, self._arena.view[base : base + size], MERGE_RECORD_BYTES, counted=counted)

    def pieces(self) -> Generator[memoryview]:
        """All lines in order, in pieces of at most an out. A piece is good until the next one is asked for; where there
        are workers, who may write it meanwhile, until the next but one is."""
        kernel = self._order.kernel
        for lines in self._lines:
            self._start_filling(lines)
        for i in range(len(self._lines)):
            self._feed(i)
        rounds = self._rounds
        out, filled, fed = self._outs.take(), 0, True
        while True:
            if rounds is not None and fed and rounds.are_due() and rounds.prepare(self._cursors_of_halves()):
                if filled:
                    yield out[:filled]
                    self._outs.put_back(out)
                else:
                    self._outs.put_first(out)
                rounds.start()
                yield from rounds.pieces()
                self._go_on(rounds.end)
                out, filled = self._outs.take(), 0
                continue
            status, used = kernel.merge(
                self._order.program,
                self._order.locale,
                self._arena.view,
                self._cursors,
                len(self._lines),
                self._state,
                out[filled:],
            )
            filled += used
            fed = status >= 0
            if fed:
                self._feed(status)
                continue
            yield out[:filled]
            if status == kernel.MERGE_DONE:
                return
            self._outs.put_back(out)
            out, filled = self._outs.take(), 0

    def _cursors_of_halves(self) -> bytearray:
        """Two for each run: its lines, and those behind them where they are in memory already. Equal ones are merged in
        the order of the cursors, so that the two are what one with all these lines would be."""
        words: list[int] = []
        for lines, cursor in zip(self._lines, _CURSOR.iter_unpack(self._cursors), strict=True):
            job, spare = lines.job, lines.spare
            if job is not None and spare is not None and job.is_done and job.wait() == _READY:
                words += (*cursor[:4], True, lines.spare_base, spare.top, spare.n, lines.kept, lines.ended)
            else:
                words += (*cursor, *cursor[:2], 0, 0, True)
        return bytearray(struct.pack(f"={len(words)}Q", *words))

    def _go_on(self, places: Sequence[int]) -> None:
        """From two places in each run, in its lines and in those behind them."""
        for i, (base, top, n, _, last) in enumerate(_CURSOR.iter_unpack(bytes(self._cursors))):
            at, behind = places[2 * i : 2 * i + 2]
            if at < n or last:
                _CURSOR.pack_into(self._cursors, i * _CURSOR.size, base, top, n, at, last)
            else:
                self._feed(i, behind)

    def _feed(self, i: int, at: int = 0) -> None:
        """Bring the next lines of run i in: one at least, unless the run is at its end. `at` of them, and what is kept,
        are merged already."""
        lines = self._lines[i]
        if lines.job is not None and lines.spare is not None:
            status, lines.job = lines.job.wait(), None
            lines.buffer, lines.spare = lines.spare, lines.buffer
            lines.base, lines.spare_base = lines.spare_base, lines.base
        else:
            status = self._fill(lines, lines.buffer, lines.buffer)
        while status == _TOO_LONG:
            self._grow(lines)
            status = self._fill_on(lines, lines.buffer)
        if self._forecast is not None:
            self._forecast.fed(i, lines.buffer)
        buffer = lines.buffer
        at = max(at, lines.kept)
        _CURSOR.pack_into(self._cursors, i * _CURSOR.size, lines.base, buffer.top, buffer.n, at, lines.ended)
        self._start_filling(lines)

    def _start_filling(self, lines: Lines) -> None:
        """The other half of the window, if it has halves and there is more."""
        spare = lines.spare
        if spare is not None and not lines.ended:
            lines.job = self._workers.submit(lambda: self._fill(lines, lines.buffer, spare))

    def _fill(self, lines: Lines, source: LineBuffer, target: LineBuffer) -> int:
        """Put what follows the lines of the source into the target, which may be the source."""
        # Where equal lines are folded the one read last stays: the next one is compared with it.
        lines.kept = int(self._order.folds and source.n > 0)
        target.take_over(source, keep_last=bool(lines.kept))
        return self._fill_on(lines, target)

    def _fill_on(self, lines: Lines, target: LineBuffer) -> int:
        reader = lines.reader
        while True:
            if reader.remaining and self._has_room(target, reader):
                target.stop += reader.readinto(target.view[target.stop :][: self._room(target)])
            fits = target.split()
            if target.n and not self._order.keyed:
                records = target.n * MERGE_RECORD_BYTES
                self._text_share = min(max(0.95 * target.scanned / (target.scanned + records), 0.5), 0.9)
            lines.ended = not reader.remaining and target.scanned == target.stop
            if target.n > lines.kept or lines.ended:
                reader.release()
                return _READY
            if not fits or not self._has_room(target, reader):
                return _TOO_LONG

    def _room(self, buffer: LineBuffer) -> int:
        """Half of it is for text, the other half for records and keys; where there are no keys all is for text that
        records of lines as long as before leave."""
        return int(buffer.top * self._text_share) - buffer.stop

    def _has_room(self, buffer: LineBuffer, reader: Reader) -> bool:
        return self._room(buffer) >= min(reader.block_bytes, reader.remaining)

    def _grow(self, lines: Lines) -> None:
        """Move the lines, of which a single one fills the buffer, behind the arena into a window twice as large."""
        for other in self._lines:
            if other.job is not None:
                other.job.wait()
        base = align(self._arena.size)
        size = 2 * lines.buffer.top
        if size > LARGEST_ARENA_BYTES:
            raise SortError(b"memory exhausted: a line of more than 2 GiB")
        buffers = [(other.buffer, other.base) for other in self._lines]
        buffers += [(other.spare, other.spare_base) for other in self._lines if other.spare is not None]
        sizes = [buffer.top for buffer, _ in buffers]
        for buffer, _ in buffers:
            buffer.view.release()
        self._arena.resize(base + size)
        for (buffer, start), length in zip(buffers, sizes, strict=True):
            buffer.view = self._arena.view[start : start + length]
        old = lines.buffer
        lines.buffer = self._window(lines.reader, base, size)
        lines.buffer.take_over(old, keep_last=self._order.folds)
        self._forget(old, lines.base)
        if lines.spare is not None:
            self._forget(lines.spare, lines.spare_base)
        lines.base, lines.spare = base, None

    def _forget(self, buffer: LineBuffer, base: int) -> None:
        self._arena.forget(base, base + buffer.top)
        buffer.view.release()

    @property
    def longest(self) -> int:
        """Length of the longest line so far."""
        return max(lines.buffer.longest for lines in self._lines)

    def close(self) -> None:
        """Nothing works on it any more. The readers stay open."""
        if self._workers.are_lost:
            return
        if self._rounds is not None:
            self._rounds.close()
        for lines in self._lines:
            if lines.job is not None:
                lines.job.give_up()
        for lines in self._lines:
            lines.buffer.view.release()
            if lines.spare is not None:
                lines.spare.view.release()
