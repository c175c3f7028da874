"""How a merge best reads its runs: the hints of GNU sort's posix_fadvise, and pread against mmap and direct I/O."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.corpora import presorted
from bench.hints_advice import SortBench
from bench.hints_table import Claim, Expected, Place, Table, Variant, cool, removed
from bench.randomness import Source

NATIVE_LINES_N = 2_000_000  # of 51 bytes
SLOW_LINES_N = 500_000
LIMITS = {"read_iops": 100}
OPTIONS = ("-m", "-S25M")
READERS = {
    "pread": (),
    "pread, no hint": ("--fadvise=none",),
    "pread, willneed": ("--fadvise=willneed",),
    "pread, nothing ahead": ("--prefetch=0",),
    "mmap": ("--reader=mmap",),
    "mmap, populate": ("--reader=mmap", "--mmap-flags=populate"),
    "direct": ("--reader=direct",),
}


def tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    lines_n = round((SLOW_LINES_N if slow else NATIVE_LINES_N) * scale)
    for runs_n in (16, 64):
        paths = _runs(place.directory, lines_n, runs_n)
        bench = SortBench(paths, OPTIONS, place)
        size_mib = sum(path.stat().st_size for path in paths) / 2**20
        yield Table(
            f"merge {runs_n} runs of {size_mib / runs_n:.1f} MiB, {' '.join(OPTIONS)}" + ", 100 requests/s" * slow,
            paths,
            {name: Variant(partial(bench.run, options)) for name, options in READERS.items()},
            baselines=("pread",),
            expected=(Expected("mmap", "pread"), Expected("direct", "pread"), Expected("pread, willneed", "pread")),
            limits=LIMITS,
            most_rounds_n=3 if slow else None,
        )
        removed(paths)


def _runs(directory: Path, lines_n: int, runs_n: int) -> tuple[Path, ...]:
    """Lines in order, each in a run drawn for it."""
    paths = tuple(directory / f"run{number}" for number in range(runs_n))
    with ExitStack() as closing:
        files = [closing.enter_context(path.open("xb")) for path in paths]
        for number, lines in enumerate(presorted("merge", lines_n)):
            for chosen, line in zip(Source(f"run/{number}").below(runs_n, len(lines)), lines, strict=True):
                files[chosen].write(line + b"\n")
    for path in paths:
        cool(path)  # which writes it out, so that its write-back falls into no run
    return paths


CLAIM = Claim(
    "merge",
    "GNU sort's posix_fadvise: a merge took 25.0 s without hints, 24.6 s with SEQUENTIAL, 38.4 s with WILLNEED."
    " InfluxDB dropped populated maps: mapping many files in one process goes one by one.",
    "1.02 and 0.65",
    tables,
)
