"""What compressing runs takes and gives: their bytes, and the time of a whole sort where they do not fit the memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from bench.corpora import ensure_corpus
from bench.hints_advice import SortBench
from bench.hints_table import Claim, Expected, Place, Sample, Table, Variant, removed
from bench.roofline import spilled_bytes

NATIVE_SCALE = 0.5
SLOW_SCALE = 0.25
SLOW_BPS = (20_000_000, 100_000_000)  # a USB stick, a disk that turns
CORPORA = ("random", "logs")
COLD_RUNS = (sys.executable, "-m", "bench.cold_runs")
METHODS = {"none": "zlib", "zlib": "zlib", "zstd": "zstandard", "lz4": "lz4"}  # with what has to be there


class ColdBench(SortBench):
    """Sorts whose runs are on the place's disk, and nowhere else when they are merged."""

    def __init__(self, path: Path, options: Sequence[str], place: Place) -> None:
        super().__init__((path,), options, place, COLD_RUNS, place.directory)
        self._argv = [*COLD_RUNS, *options, "-T", str(place.scratch), "-o", os.devnull, str(path)]

    def variant(self, method: str) -> Variant:
        option = f"--compress={method}"
        spilled = spilled_bytes([*self._argv, option], {**os.environ, "LC_ALL": "C"})
        return Variant(partial(self._run, option, (spilled or 0) / 2**20))

    def _run(self, option: str, spilled_mib: float) -> Sample:
        sample = self.run([option])
        return Sample(sample.value, {"spilled_mib": spilled_mib}, sample.timeline)


def tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    own_scale = scale * (SLOW_SCALE if slow else NATIVE_SCALE)
    methods = [method for method, package in METHODS.items() if find_spec(package)]
    for corpus in CORPORA:
        path = ensure_corpus(corpus, own_scale, place.scratch)
        options = [f"-S{max(64, round(25 * 1024 * scale))}K"]
        bench = ColdBench(path, options, place)
        variants = {method: bench.variant(method) for method in methods}
        for bps in SLOW_BPS if slow else (0,):
            yield Table(
                f"sort {path.stat().st_size / 1e6:.0f} MB ({corpus}), {options[0]}"
                + f", runs written and read at {bps / 1e6:.0f} MB/s" * slow,
                (path,),
                variants,
                baselines=("none",),
                expected=tuple(Expected(method, "none") for method in methods[1:]),
                limits={"read_bps": bps, "write_bps": bps},
                most_rounds_n=3 if slow else None,
            )
        removed((path,))


CLAIM = Claim(
    "compress",
    "GNU sort's --compress-program, and compressed temporaries of databases: less temporary space, and less time where"
    " the disk is slow.",
    "nothing in figures",
    tables,
)
