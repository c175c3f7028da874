"""The claim about PostgreSQL's ANALYZE: a sample of a table's blocks is read faster with the kernel's read-ahead, and
faster yet when blocks are asked for ahead of their turn."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.hints_table import Claim, Expected, Place, Sample, Table, Variant, make_file, removed
from pysort.storage.handle import Handle

FILE_BYTES = 128 << 20
BLOCK_BYTES = 8 << 10
PERCENTS = (1, 6.7, 20, 50, 100)
CLAIMED_PERCENT = 6.7  # 1.5 of 22.4 million blocks
DISTANCES = (0, 1, 2, 4, 10, 16, 64, 256)
WORKERS = (2, 3, 4)
LIMITS = {"read_iops": 1000}
BASE = "distance 0"
OFF = "read-ahead off"


def tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    path = make_file(place.directory / "sampled", round(FILE_BYTES * scale))
    for percent in PERCENTS:
        yield _table(path, percent, slow, {}, "")
    if slow:
        yield _table(path, CLAIMED_PERCENT, slow, LIMITS, ", 1,000 requests/s")
    removed((path,))


def _table(path: Path, percent: float, slow: bool, limits: dict[str, int], said: str) -> Table:
    blocks_n = path.stat().st_size // BLOCK_BYTES
    offsets = [
        BLOCK_BYTES * n
        for n in sorted(random.Random(0).sample(range(blocks_n), max(8, round(blocks_n * percent / 100))))
    ]
    read = partial(_sample, path, offsets)
    variants = {f"distance {distance}": Variant(partial(read, distance=distance)) for distance in DISTANCES}
    variants |= {f"{workers_n} workers": Variant(partial(read, workers_n=workers_n)) for workers_n in WORKERS}
    variants["FADV_RANDOM"] = Variant(partial(read, advice=os.POSIX_FADV_RANDOM))
    if slow:
        variants[OFF] = Variant(read, read_ahead_kib=0)
    return Table(
        f"{len(offsets)} blocks of 8 KiB in order, {percent:g} % of the blocks{said}",
        (path,),
        variants,
        baselines=(BASE,),
        expected=(Expected(BASE, OFF, 1.4),) if slow and percent == CLAIMED_PERCENT else (),
        limits=limits,
        most_rounds_n=None if percent == CLAIMED_PERCENT and not limits else 3,
        at={"percent": percent},
    )


def _sample(
    path: Path, offsets: Sequence[int], distance: int = 0, workers_n: int = 1, advice: int = os.POSIX_FADV_NORMAL
) -> Sample:
    """Read the blocks; each worker a stretch of them, through a descriptor of its own."""
    handles = [Handle.open(os.fsencode(path), os.O_RDONLY) for _ in range(workers_n)]
    per_worker = -(-len(offsets) // workers_n)
    threads = []
    start = time.perf_counter()
    for number, handle in enumerate(handles):
        os.posix_fadvise(handle.fd, 0, 0, advice)
        part = offsets[number * per_worker : (number + 1) * per_worker]
        threads.append(threading.Thread(target=_read, args=(handle, part, distance)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    for handle in handles:
        handle.close()
    return Sample(took)


def _read(handle: Handle, offsets: Sequence[int], distance: int) -> None:
    view = memoryview(bytearray(BLOCK_BYTES))
    for offset in offsets[:distance]:
        os.posix_fadvise(handle.fd, offset, BLOCK_BYTES, os.POSIX_FADV_WILLNEED)
    for n, offset in enumerate(offsets):
        if distance and n + distance < len(offsets):
            os.posix_fadvise(handle.fd, offsets[n + distance], BLOCK_BYTES, os.POSIX_FADV_WILLNEED)
        os.preadv(handle.fd, [view], offset)


CLAIM = Claim(
    "sample",
    "PostgreSQL's ANALYZE of a table of 171 GB, 6.7 % of its blocks: 3.5 minutes with the disk's read-ahead, 5.9"
    " minutes without. Asking for 1 block ahead was slower than for none (the commit that made 16 the default).",
    "1.7 for read-ahead",
    tables,
)
