"""The claim of GNU sort's posix_fadvise: reading goes faster when the kernel is told that it will be sequential.

Two benches: the reads alone, and the whole sort with its use of the CPU over time.
"""

from __future__ import annotations

import hashlib
import os
import resource
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.contenders import BenchError, pysort_program
from bench.corpora import ensure_corpus
from bench.hints_table import Claim, Expected, Place, Sample, Table, Variant, make_file, removed
from pysort import kernel
from pysort.storage import guard
from pysort.storage.access import Access, parse_map_flags
from pysort.storage.handle import Handle
from pysort.storage.hints import parse_hints
from pysort.storage.iostats import IoStats
from pysort.storage.readers import open_input

# Each hint by itself, as --fadvise takes it: without `none` it would be added to `sequential`.
STRATEGIES = ("none", "sequential", "none,willneed", "none,willneed-chunked", "none,noreuse", "random")
WAYS = {name: (f"--fadvise={name}",) for name in STRATEGIES} | {
    "none, mmap": ("--fadvise=none", "--input-reader=mmap"),
    "none, direct": ("--fadvise=none", "--input-reader=direct"),
}
SCAN_LIMITS = {"read_iops": 300}
WIRE_LIMITS = {"read_bps": 20_000_000}  # the USB stick of the claim
NATIVE_SCAN_BYTES = 512 << 20
SLOW_SCAN_BYTES = 64 << 20  # 500 requests of 128 KiB
SORT_LIMITS = {"read_iops": 100}  # with 300 the sort is busier than the disk
NATIVE_SORT_SCALE = 0.5  # of the corpus of 200 MB
SLOW_SORT_SCALE = 0.16
SORT_BUFFER_MIB = 25  # less than any of the files; reads are of a sixteenth of it unless --read-size says otherwise
SAMPLE_MS = 100

SOURCE = (
    "GNU sort's posix_fadvise: 477 MB from a USB stick of 19 MB/s sorted in 58.4 s instead of 60.2 s; from flash of 21"
    " MB/s in 27.7 s instead of 31.6 s with SEQUENTIAL and with WILLNEED."
)
CLAIMED = "1.03 and 1.14"


def scan_tables(place: Place, scale: float) -> Iterator[Table]:
    slow = place.slow is not None
    size = round((SLOW_SCAN_BYTES if slow else NATIVE_SCAN_BYTES) * scale)
    path = make_file(place.directory / "scanned", size)
    for kib in (64, 1024):
        read = partial(_scan, path, kib << 10)
        yield Table(
            f"read {size / 2**20:.0f} MiB, {kib} KiB at a time" + ", 300 requests/s" * slow,
            (path,),
            {
                **{name: Variant(partial(read, name)) for name in (*STRATEGIES, "none,dontcache")},
                "none, mmap": Variant(partial(read, "none", "mmap")),
                "none, mmap populate": Variant(partial(read, "none", "mmap", b"populate")),
                "none, direct": Variant(partial(read, "none", "direct")),
            },
            baselines=("none",),
            expected=(Expected("sequential", "none", 1.8 if slow and kib == 64 else None),),
            limits=SCAN_LIMITS,
            most_rounds_n=3 if slow else None,
            column=f"reads of {kib} KiB",
        )
    removed((path,))


def _scan(path: Path, read_bytes: int, strategy: str, kind: str = "pread", flags: bytes = b"") -> Sample:
    """Read the file once with pysort's own reader."""
    guard.install(kernel.load(None))  # without it a file that others might cut short is not mapped
    view = memoryview(bytearray(read_bytes))
    start = time.perf_counter()
    chosen = parse_hints(strategy.encode(), b"--fadvise")
    access = Access(kind, chosen, map_flags=parse_map_flags(flags, b"--mmap-flags"))
    stats = IoStats()
    with open_input(os.fsencode(path), access, stats) as reader:
        while reader.readinto(view):
            pass
        took = time.perf_counter() - start
    return Sample(took, notes=tuple(os.fsdecode(note) for note in stats.notes))


def sort_tables(place: Place, scale: float) -> Iterator[Table]:
    if place.slow is None:
        yield from _sort_tables(place, scale, NATIVE_SORT_SCALE, {}, ("",), "")
    else:
        yield from _sort_tables(place, scale, SLOW_SORT_SCALE, WIRE_LIMITS, ("",), ", 20 MB/s")
        yield from _sort_tables(place, scale, SLOW_SORT_SCALE, SORT_LIMITS, ("", "--read-size=64K"), ", 100 requests/s")


def _sort_tables(
    place: Place, scale: float, own_scale: float, limits: dict[str, int], ways: Sequence[str], said: str
) -> Iterator[Table]:
    """Sorts of a file, which spill: one with each of the options `ways`."""
    corpus_scale = own_scale * scale
    path = ensure_corpus("random", corpus_scale, place.directory)
    buffer = f"-S{max(64, round(SORT_BUFFER_MIB * 1024 * scale))}K"
    for way in ways:
        options = [buffer, *([way] if way else [])]
        bench = SortBench((path,), options, place)
        yield Table(
            f"sort {path.stat().st_size / 1e6:.0f} MB, {' '.join(options)}{said}",
            (path,),
            {name: Variant(partial(bench.run, how)) for name, how in WAYS.items()},
            baselines=("none",),
            expected=(Expected("sequential", "none"), Expected("none,willneed", "none")),
            limits=limits,
            most_rounds_n=3 if limits else None,
            column=f"whole sort{f', {way}' if way else ''}{said}",
        )
    removed((path,))


class SortBench:
    """One job of the `pysort` command, or of a program like it, whatever its variants are; temporary files, unless
    they have a directory, and output are on the disk below the place's, and every output has the bytes of the first."""

    def __init__(
        self,
        inputs: Sequence[Path],
        options: Sequence[str],
        place: Place,
        program: Sequence[str] = (),
        temporary: Path | None = None,
    ) -> None:
        self._program = program
        self._temporary = temporary or place.scratch
        self._inputs = inputs
        self._options = options
        self._scratch = place.scratch
        self._digest: str | None = None

    def run(self, options: Sequence[str]) -> Sample:
        output = self._scratch / "output"
        program = self._program or pysort_program()
        argv = [*program, *self._options, *options, "-T", str(self._temporary), "-o", str(output)]
        sample = timed([*argv, *map(str, self._inputs)])
        with output.open("rb") as file:
            digest = hashlib.file_digest(file, "blake2b").hexdigest()
        output.unlink()
        self._digest = self._digest or digest
        if digest != self._digest:
            raise BenchError(f"the output with {' '.join(options)} differs from the first one")
        return sample


def timed(argv: Sequence[str]) -> Sample:
    """Run the command in the C locale and watch its CPU time from outside. Raises BenchError when it fails."""
    used_before = _children_cpu_s()
    start = time.perf_counter()
    process = subprocess.Popen(
        argv, env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        clock = CpuClock(process.pid, start)
        clock.run()
        _, message = process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode:
        raise BenchError(f"{argv[0]}: exit status {process.returncode}: {message.decode(errors='replace').strip()}")
    clock.add(clock.ended, _children_cpu_s() - used_before)
    return Sample(clock.ended - start, timeline=tuple(clock.points))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class CpuClock:
    """points: (seconds since start, percent of one CPU since the point before). ended: when the process had."""

    def __init__(self, pid: int, start: float) -> None:
        self._pid = pid
        self._start = start
        self._before = (start, 0.0)
        self.ended = start
        self.points: list[tuple[float, float]] = []

    def run(self) -> None:
        """Until the process ends, which it must not be awaited for meanwhile."""
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        stat = Path(f"/proc/{self._pid}/stat")
        ending = select.poll()
        with Handle(os.pidfd_open(self._pid)) as process:
            ending.register(process.fd)
            while not ending.poll(SAMPLE_MS):
                words = stat.read_text().rpartition(")")[2].split()
                self.add(time.perf_counter(), (int(words[11]) + int(words[12])) / ticks_per_s)  # user, system
        self.ended = time.perf_counter()

    def add(self, now: float, used_s: float) -> None:
        then, used_then = self._before
        self.points.append((now - self._start, max(0.0, 100 * (used_s - used_then) / (now - then))))
        self._before = (now, used_s)


SCAN = Claim("scan", SOURCE, CLAIMED, scan_tables)
SORT = Claim("sort", SOURCE, CLAIMED, sort_tables)
