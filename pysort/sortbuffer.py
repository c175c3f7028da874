"""The sort buffer: the arena while a run is generated. The caller's thread fills it, workers help.

    | text and keys grow up, in the order in which room for them was taken  ...  | n records | scratch for as many |

Text is read into a piece; when that is long enough, a worker splits it into records, behind those of the piece before
it, and encodes their keys into blocks that it takes wherever the buffer has grown to. What is left of the piece behind
its last complete line begins the next one: where it is, or moved if keys have been put behind it. So reading, splitting
and encoding go on at the same time; without workers they take turns, by the same code.

When a line or its key has no room the buffer is full: that line and all that was read behind it stay for the next run.
Stable sorting needs no more than that, records being in the order of the lines.
"""

from __future__ import annotations

import struct
from _thread import allocate_lock

from pysort.plan import SORT_RECORD_BYTES
from pysort.room import Room
from pysort.sorting import Sorting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pysort.arena import Arena
    from pysort.kernel import Order
    from pysort.storage.workers import Job, Workers

    Read = Callable[[memoryview], int]

LINE_BYTES = 16  # one record for so many is what a piece is given at first, and more when these are used up
KEY_BYTES = 24  # of header and key, as long as nothing is known
COST = 4  # of text in a buffer, likewise

_RECORD = struct.Struct("=8x2I")  # offset, length


class Piece:
    """Complete lines start..stop-1 of the text, behind those of `before`.

    When its job is done: `last` records in all have been split so far, of which `done` are good (they have keys where
    keys are needed), and `rest` is where the first line begins that has no good record; `stop` when all have.
    """

    __slots__ = ("before", "done", "job", "key_bytes", "last", "longest", "rest", "split", "start", "stop")

    def __init__(self, start: int, stop: int, before: Piece | None) -> None:
        self.start = start
        self.stop = stop
        self.before = before
        self.last = self.done = self.longest = 0
        self.key_bytes = 0  # that its keys were expected to take, each
        self.rest = start
        self.split = allocate_lock()  # held until the piece has been split
        self.split.acquire()
        self.job: Job | None = None


class Text:
    """Text start..stop-1 that is in no piece yet; there is no end of a line before `searched`."""

    __slots__ = ("searched", "start", "stop")

    def __init__(self, stop: int) -> None:
        self.start = self.searched = 0
        self.stop = stop

    @property
    def size(self) -> int:
        return self.stop - self.start


class SortBuffer:
    """Call load(), start_sort() and, when the lines have been written, begin(), until load() has returned True.

    n: good records. longest: length of the longest line so far.
    """

    __slots__ = (
        "_arena",
        "_carried",
        "_cost",
        "_key_bytes",
        "_order",
        "_piece_bytes",
        "_pieces",
        "_room",
        "_taken_bytes",
        "_text",
        "_workers",
        "longest",
        "n",
    )

    def __init__(self, order: Order, arena: Arena, workers: Workers, piece_bytes: int) -> None:
        """piece_bytes: most that is read at once, and what is worth a worker's while."""
        self._order = order
        self._arena = arena
        self._workers = workers
        self._piece_bytes = piece_bytes
        self._pieces: list[Piece] = []  # that have not been looked at since they were submitted, and one before them
        self._room = Room(arena.size, 0)
        self._carried: list[tuple[int, int]] = []  # text that waits for the next run
        self._key_bytes: float = KEY_BYTES
        self._cost: float = COST  # bytes of the buffer for a byte of text, its own included, as far as lines have shown
        self._taken_bytes = 0  # of text with good records
        self._text = Text(0)
        self.longest = 0
        self.n = 0

    def begin(self, behind: SortBuffer, before: bytes = b"") -> None:
        """Empty, but for the text that waits in a full buffer, another one or this; and before that the complete lines
        `before`, with their separators."""
        carried, behind._carried = behind._carried, []
        size = len(before) + sum(stop - start for start, stop in carried)
        while size > self._arena.size:
            self._arena.double()
        source, view = behind._arena.view, self._arena.view
        at = len(before)
        view[:at] = before
        for start, stop in carried:
            view[at : at + stop - start] = source[start:stop]
            at += stop - start
        self._cost = behind._cost
        self._pieces = []
        self._room = Room(self._arena.size, at)
        self._taken_bytes = self.n = 0
        self._text = Text(at)

    def forget_lines(self, at: int) -> None:
        """They have been written: of what lies behind `at` only text that waits for the next run stays in memory."""
        size = self._arena.size
        self._arena.forget(at, max(min((start for start, _ in self._carried), default=size), at))
        self._arena.forget(max(max((stop for _, stop in self._carried), default=0), at), size)

    def load(self, read: Read) -> bool:
        """Fill the buffer. True when `read` has said that nothing follows and all lines are in the buffer."""
        while True:
            ended = self._fill(read, self._text)
            if self.n or (ended and not self._carried):
                return ended and not self._carried
            self._arena.double()  # for a line that is longer than the buffer
            self.begin(self)

    def _fill(self, read: Read, text: Text) -> bool:
        """Take text until the buffer is full or nothing follows, which it returns."""
        ended = False
        while True:
            if text.size >= self._piece_bytes:
                self._submit(text)
            size = self._next_size(text)
            if not size:
                break
            if not self._room.extend(text.stop, size) and not self._move(text, size):
                continue  # a worker was faster
            n = read(self._arena.view[text.stop : text.stop + size])
            self._room.give_back(text.stop + size, text.stop + n)
            text.stop += n
            if not n:
                ended = True
                break
        self._submit(text)
        self._settle(wait=True)
        if text.size:
            self._carried.append((text.start, text.stop))
        return ended

    def _next_size(self, text: Text) -> int:
        """Bytes to read next, 0 when the buffer is full. Waits for the workers where they may need what is free."""
        self._settle(wait=False)
        in_pieces = sum(piece.stop - piece.start for piece in self._pieces if piece.job is not None)
        if self._taken_bytes:
            used = self._room.low - in_pieces - text.size + self.n * SORT_RECORD_BYTES
            self._cost = used / self._taken_bytes
        if (in_pieces + text.size + self._piece_bytes) * self._cost * 1.25 > self._room.free + in_pieces + text.size:
            self._settle(wait=True)
        if self._carried:
            return 0
        free = self._room.free
        if not self.n:  # nothing but the beginning of a line
            return max(min(self._piece_bytes, free), 0)
        size = min(self._piece_bytes, (free - text.size) // 2)  # the other half is for records and keys
        return size if size > self._piece_bytes // 16 else 0

    def _move(self, text: Text, size: int) -> bool:
        """Text behind which keys have been put, to where `size` bytes more have room, if there is any."""
        at = self._room.take(text.size + size)
        if at is None:
            return False
        self._arena.view[at : at + text.size] = self._arena.view[text.start : text.stop]
        text.searched += at - text.start
        text.stop += at - text.start
        text.start = at
        return True

    def _submit(self, text: Text) -> None:
        """Have the complete lines of the text taken."""
        stop = self._arena.rfind(self._order.separator, text.searched, text.stop) + 1
        text.searched = text.stop
        if not stop:
            return
        piece = Piece(text.start, stop, self._pieces[-1] if self._pieces else None)
        self._pieces.append(piece)
        text.start = stop
        piece.job = self._workers.submit(lambda: self._take(piece))

    def _settle(self, wait: bool) -> None:
        """Look at the pieces whose jobs are done, all of them if `wait`. Where one could not be taken whole, the buffer
        is full, and what follows is carried."""
        while self._pieces and (wait or self._pieces[0].job is None or self._pieces[0].job.is_done):
            piece = self._pieces[0]
            if piece.job is not None:
                piece.job.wait()
                piece.job = None
                self._count(piece)
            if len(self._pieces) == 1:
                break  # the next one follows it
            del self._pieces[0]

    def _count(self, piece: Piece) -> None:
        self.longest = max(self.longest, piece.longest)
        if self._carried:
            self._carried.append((piece.start, piece.stop))
            return
        self.n = piece.done
        self._taken_bytes += piece.rest - piece.start
        if piece.rest < piece.stop:
            self._carried.append((piece.rest, piece.stop))

    # By workers -------------------------------------------------------------------------------------------------------

    def _take(self, piece: Piece) -> int:
        first = self._split(piece)
        if self._order.keyed:
            self._encode(piece, first)
        return 0

    def _split(self, piece: Piece) -> int:
        """Records for the lines of the piece, when those before have theirs. Returns the number of the first."""
        try:
            before, piece.before = piece.before, None
            n = 0
            if before is not None:
                before.split.acquire()
                n = before.last
                if before.rest < before.stop:  # the buffer is full
                    piece.last = piece.done = n
                    return n
            first, at = n, piece.start
            key_bytes = piece.key_bytes = int(self._key_bytes) + 1 if self._order.keyed else 0
            while at < piece.stop:
                n_max = self._room.take_records(n, (piece.stop - at) // LINE_BYTES + 64, key_bytes)
                if n_max == n:
                    break
                split_n = n
                n, at, longest = self._order.kernel.scan(
                    self._order.program, self._arena.view, at, piece.stop, self._arena.size, n, n_max
                )
                piece.longest = max(piece.longest, longest)
                self._room.settle_records(n, (n - split_n) * key_bytes)
            piece.last = piece.done = n
            piece.rest = at
            return first
        finally:
            piece.split.release()

    def _encode(self, piece: Piece, first: int) -> None:
        """Keys for the records of the piece, in as many blocks as it takes."""
        least = 0
        due = (piece.last - first) * piece.key_bytes
        while first < piece.last:
            wanted = max(int((piece.last - first) * self._key_bytes * 1.02) + 256, least)
            at, limit = self._room.take_keys(wanted, due)
            done, end = self._order.kernel.encode(
                self._order.program,
                self._order.locale,
                self._arena.view,
                self._arena.size,
                first,
                piece.last,
                at,
                limit,
            )
            self._room.give_back(limit, end)
            if done > first:
                self._key_bytes = (end - at) / (done - first)
            elif limit - at < wanted:
                break
            least = 0 if done > first else 2 * wanted  # for a key that is longer than all that
            due = 0
            first = done
        if first < piece.last:
            piece.done = first
            piece.rest = _RECORD.unpack_from(self._arena.view, self._arena.size - (first + 1) * _RECORD.size)[0]

    def start_sort(self) -> Sorting:
        """Begin to bring the lines in order."""
        return Sorting(self._order, self._arena, self._workers, self.n, self._taken_bytes)
