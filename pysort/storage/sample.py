"""A sample of a file's blocks: which, and reading them in the order in which they lie."""

from __future__ import annotations

import os
import zlib

from pysort.storage.advice import Advisor
from pysort.storage.handle import Handle
from pysort.storage.iostats import IoStats
from pysort.storage.prefetch import FileBlocks, PrefetchStream
from pysort.storage.workers import Workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pysort.storage.hints import Strategy

READ_AHEAD_WORKERS_N = 8


def sample_blocks(size: int, block_bytes: int, fraction: float, seed: int = 0) -> list[tuple[int, int]]:
    """(offset, length) of about this fraction of a file's blocks, one at least, in ascending order:
    out of each of so many equal parts of the file one block by chance. The last block of the file may be shorter."""
    import _random

    chance = _random.Random(seed).random
    all_n = -(-size // block_bytes)
    n = min(max(round(all_n * fraction), 1), all_n)
    blocks = []
    for i in range(n):
        first, stop = i * all_n // n, (i + 1) * all_n // n
        offset = (first + int(chance() * (stop - first))) * block_bytes
        blocks.append((offset, min(block_bytes, size - offset)))
    return blocks


class Scan:
    """What reading a sample did. checksum: the xor of the crc32 of each block, whatever their order. The counts are
    those of PrefetchStream; distance_peak is the greatest of any worker."""

    __slots__ = ("advised_n", "checksum", "distance_peak", "hits_n", "misses_n", "read_bytes", "requests_n")

    def __init__(self) -> None:
        self.read_bytes = self.checksum = 0
        self.hits_n = self.misses_n = self.requests_n = self.advised_n = self.distance_peak = 0

    def add(self, other: Scan) -> None:
        self.read_bytes += other.read_bytes
        self.checksum ^= other.checksum
        self.hits_n += other.hits_n
        self.misses_n += other.misses_n
        self.requests_n += other.requests_n
        self.advised_n += other.advised_n
        self.distance_peak = max(self.distance_peak, other.distance_peak)


def scan_blocks(
    path: bytes,
    blocks: Sequence[tuple[int, int]],
    stats: IoStats,
    *,
    distance: int,
    workers_n: int = 1,
    strategy: Strategy | None = None,
    threads: bool = False,
) -> Scan:
    """Read the blocks, each worker a part of them that lies together, through a descriptor of its own.

    distance: the most blocks that each worker looks ahead. strategy: hints for each descriptor. threads: read ahead by
    threads in place of advice. Raises OSError.
    """
    scans = [Scan() for _ in range(workers_n)]
    counts = [stats.another() for _ in range(workers_n)]

    def work(i: int) -> int:
        part = blocks[i * len(blocks) // workers_n : (i + 1) * len(blocks) // workers_n]
        with Handle.open(path, os.O_RDONLY) as handle:
            if strategy is not None:
                Advisor(handle, strategy, counts[i]).open()
            readers = Workers(min(distance, READ_AHEAD_WORKERS_N)) if threads and distance else None
            try:
                _scan(FileBlocks(handle), part, counts[i], scans[i], distance, readers)
            finally:
                if readers is not None:
                    readers.close()
        return 0

    workers = Workers(workers_n - 1)  # this thread is the last
    try:
        jobs = [workers.submit(lambda i=i: work(i)) for i in range(workers_n - 1)]  # type: ignore[misc]
        work(workers_n - 1)
        for job in jobs:
            job.wait()
    finally:
        workers.close()
    total = Scan()
    for scan, count in zip(scans, counts, strict=True):
        total.add(scan)
        stats.add(count)
    return total


def read_sample(paths: Sequence[bytes], block_bytes: int, n: int, stats: IoStats) -> Iterator[bytes]:
    """About n blocks out of all of these regular files, the more of one the larger it is. `-` is standard input, from
    where it stands, which it is left. Raises OSError."""
    spans = [_span(path) for path in paths]
    total = sum(size for _, size in spans)
    blocks = sample_blocks(total, block_bytes, n * block_bytes / total) if total else []
    base = 0
    for path, (start, size) in zip(paths, spans, strict=True):
        stop = base + size
        own = [(start + at - base, min(length, stop - at)) for at, length in blocks if base <= at < stop]
        base = stop
        if own:
            with _open(path) as handle, PrefetchStream(FileBlocks(handle), own, stats, distance=n) as stream:
                for view in stream:
                    yield bytes(view)


def _open(path: bytes) -> Handle:
    return Handle(0, owned=False) if path == b"-" else Handle.open(path, os.O_RDONLY)


def _span(path: bytes) -> tuple[int, int]:
    """Where reading begins, and how many bytes are left."""
    if path != b"-":
        return 0, os.stat(path).st_size
    start = os.lseek(0, 0, os.SEEK_CUR)
    return start, max(os.fstat(0).st_size - start, 0)


def _scan(
    source: FileBlocks,
    blocks: Sequence[tuple[int, int]],
    stats: IoStats,
    scan: Scan,
    distance: int,
    readers: Workers | None,
) -> None:
    with PrefetchStream(source, blocks, stats, distance=distance, workers=readers) as stream:
        for view in stream:
            scan.read_bytes += len(view)
            scan.checksum ^= zlib.crc32(view)
        scan.hits_n, scan.misses_n = stream.hits_n, stream.misses_n
        scan.requests_n, scan.advised_n = stream.requests_n, stream.advised_n
        scan.distance_peak = stream.distance_peak
