"""Reading blocks that are known beforehand: a few are always under way before they are asked for.

The idea is PostgreSQL's read stream. How far to look ahead is learned from each block, when it is first looked at:

    in memory       one block less, down to 1: asking the kernel for it would be in vain
    a gap before it twice as many, up to the limit: the disk may work on them side by side
    no gap          only as far as one combined request; the kernel's own read-ahead does the rest, so no advice

Adjacent blocks are read by one request of at most COMBINED_BYTES.
"""

from __future__ import annotations

import os

from pysort.storage.advice import advise
from pysort.storage.hints import HintResult
from pysort.storage.workers import wait_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pysort.storage.handle import Handle
    from pysort.storage.iostats import IoStats
    from pysort.storage.workers import Job, Workers

COMBINED_BYTES = 256 << 10
LARGEST_AHEAD_BYTES = 8 << 20


class FileBlocks:
    """A file as a stream of blocks sees it. Any number of threads may use it; it does not own the handle."""

    __slots__ = ("_handle",)

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def read_cached(self, offset: int, view: memoryview) -> int:
        """Fill the front of view with what is in memory from there on, without waiting. Returns the bytes, 0 also
        where that cannot be told."""
        if not hasattr(os, "RWF_NOWAIT"):
            return 0
        try:
            with self._handle.use() as fd:
                return os.preadv(fd, [view], offset, os.RWF_NOWAIT)
        except OSError:  # not in memory, or not to be asked; an error of the file's comes from read()
            return 0

    def advise(self, offset: int, length: int) -> int:
        """Ask the kernel to bring these bytes. Returns 0 or an errno."""
        with self._handle.use() as fd:
            return advise(fd, "POSIX_FADV_WILLNEED", offset, length)

    def read(self, offset: int, view: memoryview) -> int:
        """Fill view. Returns the bytes, fewer only at the end of the file. Raises OSError."""
        filled = 0
        while filled < len(view):
            n = self._handle.preadv(view[filled:], offset + filled)
            if not n:
                break
            filled += n
        return filled


class _Request:
    """Adjacent blocks, read at once. filled: bytes that are in `buffer`. next: the block that is delivered next."""

    __slots__ = ("buffer", "error", "filled", "hit_n", "job", "lengths", "next", "next_at", "offset", "size")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.size = 0
        self.lengths: list[int] = []
        self.next = 0
        self.next_at = 0
        self.buffer = memoryview(b"")
        self.filled = 0
        self.hit_n = 0
        self.job: Job | None = None
        self.error: OSError | None = None

    def add(self, length: int) -> None:
        self.lengths.append(length)
        self.size += length


class PrefetchStream:
    """An iterator over the contents of blocks, in their order.

    source: a FileBlocks. blocks: (offset, length) pairs, length at least 1, each taken no earlier than needed.
    distance: the most blocks to look ahead of the one that is asked for; 0: each is read when it is asked for.
    max_bytes: the most that is in memory or under way, save for the block that is asked for. workers: threads that read
    ahead (method "threads"); without them the kernel is advised.

    Each item is a memoryview, shorter than the block only at the end of the file. A failed read raises OSError at the
    block that it belongs to, and the stream can go on behind it; so does what the iterable raises. hits_n, misses_n:
    blocks in memory or not when first looked at; requests_n, advised_n: requests.
    """

    __slots__ = (
        "_ahead_bytes",
        "_ahead_n",
        "_blocks",
        "_end",
        "_failure",
        "_limit",
        "_max_bytes",
        "_next_block",
        "_pending",
        "_source",
        "_started",
        "_stats",
        "_workers",
        "advised_n",
        "distance",
        "distance_peak",
        "hits_n",
        "misses_n",
        "requests_n",
    )

    def __init__(
        self,
        source: FileBlocks,
        blocks: Iterable[tuple[int, int]],
        stats: IoStats,
        *,
        distance: int,
        max_bytes: int = LARGEST_AHEAD_BYTES,
        workers: Workers | None = None,
    ) -> None:
        self._source = source
        self._blocks: Iterator[tuple[int, int]] | None = iter(blocks)
        self._failure: Exception | None = None  # of the iterable
        self._next_block: tuple[int, int] | None = None  # taken, but not part of a request yet
        self._pending: _Request | None = None  # may still grow
        self._started: list[_Request] = []
        self._stats = stats
        self._limit = distance
        self._max_bytes = max_bytes
        self._workers = workers
        self._end = -1  # of the request started last
        self._ahead_n = 0
        self._ahead_bytes = 0
        self.distance = self.distance_peak = min(distance, 1)
        self.hits_n = self.misses_n = self.requests_n = self.advised_n = 0

    def __iter__(self) -> PrefetchStream:
        return self

    def __next__(self) -> memoryview:
        self._look_ahead()
        if not self._started:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            raise StopIteration
        request = self._started[0]
        length = request.lengths[request.next]
        at = request.next_at
        request.next += 1
        request.next_at += length
        self._ahead_n -= 1
        if request.next == 1:
            self._finish(request)
        if request.next == len(request.lengths):
            self._started.pop(0)
            self._ahead_bytes -= request.size
        if request.error is not None:
            return self._read_alone(request, at, length)
        return request.buffer[at : min(at + length, request.filled)]

    def _peek(self) -> tuple[int, int] | None:
        if self._next_block is None and self._blocks is not None:
            try:
                self._next_block = next(self._blocks, None)
            except Exception as error:  # delivered when all blocks before it have been
                self._failure = error
            if self._next_block is None:
                self._blocks = None
        return self._next_block

    def _look_ahead(self) -> None:
        """Start requests until the block that is asked for and `distance` more are under way. The last one waits while
        more blocks may join it."""
        while True:
            while self._ahead_n <= self.distance and (block := self._peek()) is not None:
                if self._ahead_n and self._ahead_bytes + block[1] > self._max_bytes:
                    break
                if self._pending is not None and not self._joins(self._pending):
                    self._start_pending()  # which may change the distance
                    continue
                self._add(*block)
            if self._pending is None or (self._started and self._joins(self._pending)):
                return
            self._start_pending()

    def _joins(self, request: _Request) -> bool:
        """Whether the next block can be read with the request."""
        offset, length = self._peek() or (-1, 0)
        return offset == request.offset + request.size and request.size + length <= COMBINED_BYTES

    def _add(self, offset: int, length: int) -> None:
        if self._pending is None:
            self._pending = _Request(offset)
        self._pending.add(length)
        self._next_block = None
        self._ahead_n += 1
        self._ahead_bytes += length

    def _start_pending(self) -> None:
        if self._pending is not None:
            request, self._pending = self._pending, None
            self._start(request)

    def _start(self, request: _Request) -> None:
        self._started.append(request)
        self.requests_n += 1
        request.buffer = memoryview(bytearray(request.size))
        follows = request.offset == self._end
        self._end = request.offset + request.size
        if not self._limit:
            return
        request.filled = request.hit_n = self._source.read_cached(request.offset, request.buffer)
        blocks_n = len(request.lengths)
        if request.filled == request.size:
            self.hits_n += blocks_n
            self.distance = max(self.distance - 1, 1)
            return
        self.misses_n += blocks_n
        most = self._limit
        if self._workers is not None:
            request.job = self._workers.submit(lambda: self._read_rest(request))
        elif follows:
            most = min(most, max(COMBINED_BYTES // request.lengths[-1], 1))
        else:
            self._advise(request)
        self.distance = min(2 * self.distance, most)
        self.distance_peak = max(self.distance_peak, self.distance)

    def _advise(self, request: _Request) -> None:
        started = self._stats.start()
        error = self._source.advise(request.offset + request.filled, request.size - request.filled)
        took = self._stats.start() - started
        self._stats.count_hints([HintResult("prefetch", error, took)])
        self.advised_n += 1

    def _read_rest(self, request: _Request) -> int:
        return self._source.read(request.offset + request.filled, request.buffer[request.filled :])

    def _finish(self, request: _Request) -> None:
        """Have the request's bytes in its buffer, or its error."""
        started = self._stats.start()
        job, request.job = request.job, None
        try:
            if request.filled < request.size:
                request.filled += self._read_rest(request) if job is None else job.wait()
        except OSError as error:
            request.error = error
        self._stats.count_read(request.filled, started, request.hit_n if self._limit else None)

    def _read_alone(self, request: _Request, at: int, length: int) -> memoryview:
        """One block of a request that failed, which may be another's fault."""
        if request.error is not None and len(request.lengths) == 1:
            raise request.error
        view = request.buffer[at : at + length]
        started = self._stats.start()
        n = self._source.read(request.offset + at, view)
        self._stats.count_read(n, started)
        return view[:n]

    def close(self) -> None:
        """Nothing is under way any more when it returns; the workers stay the caller's."""
        self._blocks = self._next_block = self._pending = None
        started, self._started = self._started, []
        jobs = [request.job for request in started if request.job is not None]
        for job in jobs:
            job.cancel()
        try:
            wait_all(jobs)
        except OSError:  # of a block that nobody will ask for
            pass
        self._ahead_n = self._ahead_bytes = 0

    def __enter__(self) -> PrefetchStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
