"""Runs whose spill blocks are compressed one by one.

Where each block ends in what is stored is kept in memory, so that a run is read from any block on, in large pieces and
by every reader. The checksums are those of the stored bytes: nothing is expanded that has changed. A block that does
not become smaller is stored as it is, so that no run takes more room than its lines.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right

from pysort.storage.runreader import RunReader
from pysort.storage.runwriter import RunWriter
from pysort.storage.spillfile import Packing
from pysort.storage.workers import wait_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysort.storage.access import Access
    from pysort.storage.codecs import Codec
    from pysort.storage.iostats import IoStats, SpillCounters
    from pysort.storage.runwriter import Space
    from pysort.storage.spillfile import SpilledRun, SpillFile
    from pysort.storage.workers import Workers


class Packer:
    """Cuts a run into blocks and compresses them. workers: help if there are any; the caller must not be one of them,
    for which it would wait."""

    __slots__ = ("_block", "_codec", "_filled", "_workers")

    def __init__(self, codec: Codec, block_bytes: int, workers: Workers | None = None) -> None:
        self._codec = codec
        self._workers = workers
        self._block = memoryview(bytearray(block_bytes))
        self._filled = 0  # bytes of it that wait for more

    def pack(self, view: memoryview) -> Iterator[tuple[memoryview, int]]:
        """Each block that is full now: what is to be stored, and its length as it was."""
        size = len(self._block)
        if self._filled:
            n = min(size - self._filled, len(view))
            self._keep(view[:n])
            view = view[n:]
            if self._filled == size:
                yield from self.rest()
        whole = len(view) - len(view) % size
        for piece in self._shrunk([view[at : at + size] for at in range(0, whole, size)]):
            yield piece, size
        self._keep(view[whole:])

    def rest(self) -> Iterator[tuple[memoryview, int]]:
        """The last block."""
        n, self._filled = self._filled, 0
        if n:
            yield self._shrunk([self._block[:n]])[0], n

    def _keep(self, view: memoryview) -> None:
        self._block[self._filled : self._filled + len(view)] = view
        self._filled += len(view)

    def _shrunk(self, blocks: Sequence[memoryview]) -> list[memoryview]:
        pieces = list(blocks)
        left = iter(range(len(blocks)))  # whoever has time takes the next one

        def shrink() -> int:
            for i in left:
                made = self._codec.shrink(blocks[i])
                if len(made) < len(blocks[i]):
                    pieces[i] = memoryview(made)
            return 0

        jobs = []
        if self._workers is not None:
            jobs = [self._workers.submit(shrink, urgent=True) for _ in range(min(self._workers.n, len(blocks) - 1))]
        try:
            shrink()
        finally:
            wait_all(jobs)
        return pieces


class PackedRunWriter(RunWriter):
    """Compresses the run, block by block. workers: see Packer."""

    __slots__ = ("_codec", "_ends", "_packer")

    def __init__(self, space: Space, file: SpillFile, index: int, codec: Codec, workers: Workers | None) -> None:
        super().__init__(space, file, index)
        self._codec = codec
        self._packer = Packer(codec, space.block_bytes, workers)
        self._ends = array("Q")

    def write(self, view: memoryview) -> None:
        for piece, length in self._packer.pack(view):
            self._store(piece, length)

    def _store(self, piece: memoryview, length: int) -> None:
        """Store a block that was `length` bytes before."""
        self._checksums.values.append(zlib.crc32(piece))
        self._ends.append((self._ends[-1] if self._ends else 0) + len(piece))
        while len(piece):
            piece = piece[self._append(piece) :]
        self._count(length)

    def finish(self) -> SpilledRun:
        """Raises SortError when the rest cannot be stored."""
        for piece, length in self._packer.rest():
            self._store(piece, length)
        run = super().finish()
        run.packing = Packing(self._codec, self._ends)
        return run


class PackedRunReader(RunReader):
    """Checks what is stored, and expands it. Offsets in messages are those of the run's lines."""

    __slots__ = ("_packing", "_stored_position")

    def __init__(
        self,
        run: SpilledRun,
        counters: SpillCounters,
        stats: IoStats,
        access: Access,
        readers_n: int,
        packing: Packing,
    ) -> None:
        super().__init__(run, counters, stats, access, readers_n)
        self._packing = packing
        self._stored_position = 0

    @property
    def stored_position(self) -> int:
        return self._stored_position

    def _place(self, stored: int) -> int:
        return bisect_right(self._packing.ends, stored) * self._run.block_bytes

    def _stop(self, length: int) -> int:
        """Where the next blocks, of `length` bytes, end in what is stored."""
        blocks_n = -(-(self.position + length) // self._run.block_bytes)
        return self._packing.ends[blocks_n - 1] if blocks_n else 0

    def _load(self, view: memoryview) -> None:
        """Read what is stored into the end of the view, for which no block is too long."""
        n = self._stop(len(view)) - self._stored_position
        self._load_stored(self._stored_position, view[len(view) - n :])

    def _verify(self, view: memoryview) -> None:
        """Check the blocks and expand them, the first one to the front of the view: each ends at or before where the
        next one is stored."""
        stop = self._stop(len(view))
        base = len(view) - stop
        start = self._stored_position
        for at in range(0, len(view), self._run.block_bytes):
            block = view[at : at + self._run.block_bytes]
            end = self._packing.ends[(self.position + at) // self._run.block_bytes]
            piece = view[base + start : base + end]
            offset = self.position + at
            if zlib.crc32(piece) != self._run.checksums.values[offset // self._run.block_bytes]:
                raise self._error(offset, b"checksum mismatch")
            block[:] = piece if len(piece) == len(block) else self._expanded(piece, len(block), offset)
            start = end
        self._stored_position = stop

    def _expanded(self, piece: memoryview, n: int, offset: int) -> bytes:
        try:
            block = self._packing.codec.expand(piece, n)
        except MemoryError:
            raise
        except Exception as error:  # each package has its own
            raise self._error(offset, b"checksum mismatch") from error
        if len(block) != n:
            raise self._error(offset, b"checksum mismatch")
        return block
