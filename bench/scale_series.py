"""What `python -m bench scale` varies: each series changes one thing, on one thread and on two."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1_000_000
THREADS = (1, 2)


@dataclass(frozen=True)
class Point:
    """One job of pysort. `line` names the curve that it belongs to; x is where on it. piped: the input comes from `cat`
    through a pipe. order: the options that decide it."""

    x: float
    line: str
    kind: str
    size_bytes: int
    threads_n: int = 2
    buffer_bytes: int | None = None
    fan_in: int | None = None
    more: tuple[str, ...] = ()
    piped: bool = False
    order: tuple[str, ...] = ()

    def options(self) -> list[str]:
        options = [f"--parallel={self.threads_n}", *self.order]
        if self.buffer_bytes is not None:
            options.append(f"-S{self.buffer_bytes}b")
        if self.fan_in is not None:
            options.append(f"--batch-size={self.fan_in}")
        return [*options, *self.more]


@dataclass(frozen=True)
class Series:
    """`exponent_limit`: time may grow as a curve's x to this power at most; None: x is no size."""

    name: str
    title: str
    x_label: str
    points: tuple[Point, ...]
    exponent_limit: float | None = None


# Sizes below these bytes are start-up rather than growth: no exponent is taken from them.
FIT_FROM_BYTES = 16 * MB
NEAR_LINEAR = 1.2
# Least -S: what a run of few KiB would tell nothing about.
_LEAST_BUFFER_BYTES = 1 << 17
_HARD: dict[str, tuple[str, tuple[str, ...]]] = {
    "all lines equal": ("equal", ()),
    "200 bytes in common": ("prefix", ()),
    "each line begins others": ("nested", ()),
    "one byte per line": ("length-1", ()),
    "10,000 bytes per line": ("length-10000", ()),
    "equal keys, -s": ("equal-keys", ("-s", "-k1,1")),
    "equal keys, -u": ("equal-keys", ("-u", "-k1,1")),
    "equal keys": ("equal-keys", ("-k1,1",)),
    "100 bytes of two keys in common": ("deep-keys", ("-k1,1", "-k2,2")),
}


def _by_threads(threads_n: int) -> str:
    return f"{threads_n} thread{'s' * (threads_n > 1)}"


def series(scale: float, largest_bytes: int) -> list[Series]:
    """All series with inputs of `scale` times their size, without those that would then exceed largest_bytes."""

    def size(megabytes: int) -> int:
        return round(megabytes * MB * scale)

    def buffer(size_bytes: int) -> int:
        return max(_LEAST_BUFFER_BYTES, size_bytes)

    sizes = [size(4**power) for power in range(7)]
    every = [
        Series(
            "hard",
            "inputs made to be slow, in memory, 2 threads",
            "bytes of input",
            tuple(Point(n, line, kind, n, order=order) for line, (kind, order) in _HARD.items() for n in sizes[:5]),
            NEAR_LINEAR,
        ),
        Series(
            "length",
            "64 MB of random lines, all of one length, in memory",
            "bytes per line",
            tuple(
                Point(n, _by_threads(threads_n), f"length-{n}", size(64), threads_n)
                for n in (1, 10, 100, 1000, 10_000)
                for threads_n in THREADS
            ),
        ),
        Series(
            "memory",
            "256 MB of random lines, -S from 1/64 of the input to all of it",
            "-S / bytes of input",
            tuple(
                Point(1 / part, _by_threads(threads_n), "random", size(256), threads_n, buffer(size(256) // part))
                for part in (64, 32, 16, 8, 4, 2, 1)
                for threads_n in THREADS
            ),
        ),
        Series(
            "fan-in",
            "1024 MB of random lines, -S 1/128 of it: some 230 runs, so many of them merged at a time at most",
            "--batch-size",
            tuple(
                Point(n, _by_threads(threads_n), "random", size(1024), threads_n, buffer(size(1024) // 128), n)
                for n in (2, 4, 16, 64, 256)
                for threads_n in THREADS
            ),
        ),
        Series(
            "size",
            "random lines of 0 to 100 bytes, -S by default",
            "bytes of input",
            tuple(Point(n, _by_threads(threads_n), "random", n, threads_n) for n in sizes for threads_n in THREADS),
            NEAR_LINEAR,
        ),
    ]
    return [
        Series(one.name, one.title, one.x_label, kept, one.exponent_limit)
        for one in every
        if (kept := tuple(point for point in one.points if point.size_bytes <= largest_bytes))
    ]
