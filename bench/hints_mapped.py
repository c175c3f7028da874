"""The claim of Bolt's MmapFlags: a database opens faster when its mapping is populated."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.hints_table import Claim, Expected, NotHere, Place, Sample, Table, Variant, make_file, removed
from pysort.storage.handle import Handle

NATIVE_BYTES = 512 << 20
SLOW_BYTES = 16 << 20  # at 300 requests a second a page each takes 14 s
SLOW_LIMITS = {"read_iops": 300}
PIECE_BYTES = 4 << 20  # touched by one slice, which Ctrl-C has to wait for
MADV_POPULATE_READ = 22  # Linux 5.14; mmap has no name for it


def tables(place: Place, scale: float) -> Iterator[Table]:
    if not hasattr(mmap, "MAP_POPULATE"):
        raise NotHere("the system has no MAP_POPULATE")
    slow = place.slow is not None
    size = round((SLOW_BYTES if slow else NATIVE_BYTES) * scale)
    path = make_file(place.directory / "mapped", size)
    populate = mmap.MAP_POPULATE
    touch = partial(_touch, path)
    yield Table(
        f"touch every page of a map of {size / 2**20:.0f} MiB" + ", 300 requests/s" * slow,
        (path,),
        {
            "plain map": Variant(touch),
            "MADV_RANDOM": Variant(partial(touch, advice=mmap.MADV_RANDOM)),
            "MAP_POPULATE": Variant(partial(touch, populate)),
            "MAP_POPULATE, MADV_RANDOM": Variant(partial(touch, populate, mmap.MADV_RANDOM)),
            "MADV_POPULATE_READ": Variant(partial(touch, advice=MADV_POPULATE_READ)),
            "MADV_SEQUENTIAL": Variant(partial(touch, advice=mmap.MADV_SEQUENTIAL)),
            "MADV_WILLNEED": Variant(partial(touch, advice=mmap.MADV_WILLNEED)),
            "plain map, hot": Variant(touch, hot=True),
            "MAP_POPULATE, hot": Variant(partial(touch, populate), hot=True),
        },
        baselines=("plain map", "MADV_RANDOM", "plain map, hot"),
        expected=(
            Expected("MAP_POPULATE", "MADV_RANDOM", 20 if slow else 5),
            Expected("MAP_POPULATE", "plain map"),
            Expected("MAP_POPULATE, hot", "plain map, hot"),
        ),
        limits=SLOW_LIMITS,
        most_rounds_n=2 if slow else None,
    )
    removed((path,))


def _touch(path: Path, flags: int = 0, advice: int | None = None) -> Sample:
    with Handle.open(os.fsencode(path), os.O_RDONLY) as handle:
        start = time.perf_counter()
        mapping = mmap.mmap(handle.fd, 0, flags=mmap.MAP_SHARED | flags, prot=mmap.PROT_READ)
        try:
            if advice is not None:
                mapping.madvise(advice)
            opened = time.perf_counter()
            for at in range(0, len(mapping), PIECE_BYTES):
                _ = mapping[at : at + PIECE_BYTES : mmap.PAGESIZE]
            end = time.perf_counter()
        finally:
            mapping.close()  # or its pages could not be dropped for the next run
    return Sample(end - start, {"open_s": opened - start})


CLAIM = Claim(
    "populate",
    "Bolt's MmapFlags: with MAP_POPULATE a database of 2 GB was opened and read in 4 s instead of 8 s from an SSD, in"
    " 8 s instead of 130 s from a hard disk. Bolt gives MADV_RANDOM to every map: that is what it was compared with.",
    "2 on an SSD, 16 on a hard disk",
    tables,
)
