"""The claim about PostgreSQL's ANALYZE: a sample of a table's blocks is read faster with the kernel's read-ahead, and
faster yet when blocks are asked for ahead of their turn."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.contenders import BenchError
from bench.hints_table import Claim, Expected, Place, Sample, Table, Variant, make_file, removed
from pysort.storage.hints import Strategy
from pysort.storage.iostats import IoStats
from pysort.storage.sample import sample_blocks, scan_blocks

NATIVE_BYTES = 128 << 20
SLOW_BYTES = 64 << 20
BLOCK_BYTES = 8 << 10
PERCENTS = (1, 6.7, 20, 50, 100)
CLAIMED_PERCENT = 6.7  # 1.5 of 22.4 million blocks
DISTANCES = (0, 1, 2, 4, 10, 16, 64, 256)
WORKERS = (2, 3, 4)
LIMITS = {"read_iops": 500}
BASE = "distance 0"
OFF = "read-ahead off"
RANDOM = "random"


def tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    path = make_file(place.directory / "sampled", round((SLOW_BYTES if slow else NATIVE_BYTES) * scale))
    for percent in PERCENTS:
        yield _table(path, percent, slow, {}, "")
    if slow:
        yield _table(path, CLAIMED_PERCENT, slow, LIMITS, ", 500 requests/s")
    removed((path,))


def _table(path: Path, percent: float, slow: bool, limits: dict[str, int], said: str) -> Table:
    blocks = sample_blocks(path.stat().st_size, BLOCK_BYTES, percent / 100)
    scan = SampleBench(path, blocks).scan
    variants = {f"distance {distance}": Variant(partial(scan, distance)) for distance in DISTANCES}
    variants["distance 10, by threads"] = Variant(partial(scan, 10, threads=True))
    variants |= {f"{workers_n} workers": Variant(partial(scan, 0, workers_n=workers_n)) for workers_n in WORKERS}
    variants[RANDOM] = Variant(partial(scan, 0, strategy=Strategy("random")))
    if slow:
        variants[OFF] = Variant(partial(scan, 0), read_ahead_kib=0)
    return Table(
        f"{len(blocks)} blocks of 8 KiB in order, {percent:g} % of the blocks{said}",
        (path,),
        variants,
        baselines=(BASE,),
        expected=_expected(slow, bool(limits)) if percent == CLAIMED_PERCENT else (),
        limits=limits,
        most_rounds_n=None if percent == CLAIMED_PERCENT and not limits else 3,
        at={"percent": percent},
    )


def _expected(slow: bool, limited: bool) -> tuple[Expected, ...]:
    """Without a limit the loop device takes its time for waking up its thread, as long as others leave it a CPU."""
    ahead = (Expected("distance 1", BASE), Expected("distance 10", BASE), Expected("4 workers", BASE))
    return (Expected(BASE, OFF, 1.4 if limited else None), *ahead) if slow else ahead


class SampleBench:
    """One sample of a file's blocks, which comes out the same however it is read."""

    def __init__(self, path: Path, blocks: Sequence[tuple[int, int]]) -> None:
        self._path = os.fsencode(path)
        self._blocks = blocks
        self._checksum: int | None = None

    def scan(
        self, distance: int, workers_n: int = 1, strategy: Strategy | None = None, threads: bool = False
    ) -> Sample:
        start = time.perf_counter()
        scan = scan_blocks(
            self._path,
            self._blocks,
            IoStats(),
            distance=distance,
            workers_n=workers_n,
            strategy=strategy,
            threads=threads,
        )
        took = time.perf_counter() - start
        if self._checksum is None:
            self._checksum = scan.checksum
        elif scan.checksum != self._checksum:
            raise BenchError("a sample read in another way has other bytes")
        return Sample(took, {"distance_peak": scan.distance_peak, "advised": scan.advised_n, "hits": scan.hits_n})


CLAIM = Claim(
    "sample",
    "PostgreSQL's ANALYZE of a table of 171 GB, 6.7 % of its blocks: 3.5 minutes with the disk's read-ahead, 5.9"
    " minutes without. Asking for 1 block ahead was slower than for none (the commit that made 16 the default).",
    "1.7 for read-ahead",
    tables,
)
