"""How files are read, as the options ask for it; one for inputs, one for runs."""

from __future__ import annotations

import mmap
import os

from pysort.storage.hints import Strategy, invalid, parse_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from pysort.options import Options

# Bounded, because a mapping's pages count as ours while it lives: windows are part of -S.
LARGEST_WINDOW_BYTES = 16 << 20
LEAST_WINDOW_BYTES = 64 << 10

# name -> (name in mmap, its number on Linux where the architecture has no numbers of its own)
MAP_FLAGS = {
    "populate": ("MAP_POPULATE", 0x8000),
    "nonblock": ("MAP_NONBLOCK", 0x10000),
    "locked": ("MAP_LOCKED", 0x2000),
    "noreserve": ("MAP_NORESERVE", 0x4000),
}
COMMON_MACHINES = ("x86_64", "i686", "aarch64", "armv7l", "riscv64", "s390x", "loongarch64")
# With these there would be something else than the file.
FORBIDDEN_FLAGS = mmap.MAP_ANONYMOUS | 0x10 | 0x100000  # MAP_FIXED, MAP_FIXED_NOREPLACE on Linux

# name -> (name in mmap, its number on Linux)
ADVICE = {
    "normal": ("MADV_NORMAL", 0),
    "sequential": ("MADV_SEQUENTIAL", 2),
    "random": ("MADV_RANDOM", 1),
    "willneed": ("MADV_WILLNEED", 3),
    "populate-read": ("MADV_POPULATE_READ", 22),
}


class MapFlags:
    """value: bits for mmap. missing: names of those that this system does not have."""

    __slots__ = ("missing", "value")

    def __init__(self, value: int = 0, missing: tuple[str, ...] = ()) -> None:
        self.value = value
        self.missing = missing


class Access:
    """Frozen: mypy holds everybody to it.

    kind: "pread", "mmap" or "direct", for regular files. map_flags: bits beside MAP_SHARED. advice: for mappings, ""
    for none. map_bytes: for the windows and aligned buffers of all that is open at one time. read_bytes: most that one
    read asks for, whole blocks of runs; None: as much as there is room for. populate_bytes: a file that is larger is
    not populated; None without a limit. threads_n: that read one input at a time, by pread alone.
    """

    __slots__ = ("advice", "kind", "map_bytes", "map_flags", "populate_bytes", "read_bytes", "strategy", "threads_n")

    def __init__(
        self,
        kind: str = "pread",
        strategy: Strategy | None = None,
        *,
        map_flags: MapFlags | None = None,
        advice: str = "",
        map_bytes: int = LARGEST_WINDOW_BYTES,
        read_bytes: int | None = None,
        populate_bytes: int | None = None,
        threads_n: int = 1,
    ) -> None:
        self.kind: Final = kind
        self.strategy: Final = strategy or Strategy()
        self.map_flags: Final = map_flags or MapFlags()
        self.advice: Final = advice
        self.map_bytes: Final = map_bytes
        self.read_bytes: Final = read_bytes
        self.populate_bytes: Final = populate_bytes
        self.threads_n: Final = threads_n

    def window_bytes(self, readers_n: int) -> int:
        """The most that one mapping shows or one aligned buffer holds when so many are open."""
        least = min(self.map_bytes, LEAST_WINDOW_BYTES)
        return max(min(self.map_bytes // readers_n, LARGEST_WINDOW_BYTES), least)


def accesses(
    options: Options, map_bytes: int, read_bytes: int | None, populate_bytes: int | None
) -> tuple[Access, Access]:
    """How inputs and how runs are read. Raises SortError for hints and flags that do not exist. map_bytes and so on:
    as in Access."""
    strategies = parse_hints(options.fadvise, b"--fadvise"), parse_hints(options.run_fadvise, b"--run-fadvise")
    kind = options.input_reader
    if options.merge and options.reader != "pread":
        kind = options.reader  # the inputs are read as runs are
    threads_n = 1 if options.merge else options.parallel_reads  # a merge reads from all its inputs as it is
    flags = parse_map_flags(options.mmap_flags, b"--mmap-flags")
    inputs, runs = (
        Access(
            kind,
            strategy,
            map_flags=flags,
            advice=options.madvise,
            map_bytes=map_bytes,
            read_bytes=read_bytes,
            populate_bytes=populate_bytes,
            threads_n=threads_n,
        )
        for kind, strategy, threads_n in zip((kind, options.reader), strategies, (threads_n, 1), strict=True)
    )
    return inputs, runs


def parse_map_flags(text: bytes, option: bytes) -> MapFlags:
    """Names and numbers, separated by commas; nothing without text. Raises SortError for a name that is none, and for
    a number that would map anything else than the file."""
    value = 0
    missing = []
    for word in text.split(b",") if text else ():
        name = word.decode("ascii", "replace")
        if name in MAP_FLAGS:
            bit = _number(*MAP_FLAGS[name])
            value |= bit or 0
            missing += [name] * (bit is None)
            continue
        number = _parse_number(name)
        if number is None or number & FORBIDDEN_FLAGS:
            raise invalid(word, option, MAP_FLAGS)
        value |= number
    return MapFlags(value, tuple(missing))


def _parse_number(text: str) -> int | None:
    """Decimal, or with 0x, 0o or 0b before it; one that fits an int."""
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 31 else None


def _number(name: str, linux: int) -> int | None:
    """The constant, which CPython may not have a name for. None where the system has none."""
    number: int | None = getattr(mmap, name, None)
    if number is None and os.uname().sysname == "Linux" and os.uname().machine in COMMON_MACHINES:
        return linux
    return number


def advice_number(advice: str) -> int | None:
    """What madvise takes for it, None where the system has no such advice."""
    name, linux = ADVICE[advice]
    return _number(name, linux)
