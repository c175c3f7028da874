"""What one bench of hints is: variants of one job on one disk, run in turns, compared with one or two baselines."""

from __future__ import annotations

import os
import random
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.contenders import BenchError
from bench.results import Spread
from bench.slowdisk import SlowDisk
from bench.verify import read_once
from pysort.storage import cache
from pysort.storage.handle import Handle

_SECTOR_BYTES = 512  # of /sys/dev/block/*/stat, whatever the device's own are


class NotHere(Exception):
    """This cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Place:
    """A directory on a disk: the native one, or the slow one with what can be done to it. scratch: a directory on the
    native disk, for what is not to be slow."""

    name: str
    directory: Path
    scratch: Path
    slow: SlowDisk | None = None

    def limited(self, limits: dict[str, int]) -> AbstractContextManager[None]:
        return nullcontext() if self.slow is None else self.slow.limited(**limits)

    def describe(self) -> str:
        """File system, device and read-ahead, as the kernel names them."""
        device = self.directory.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        fields = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        kinds = [row[row.index("-") + 1] for row in fields if row[2] == number]
        block = Path("/sys/dev/block", number).resolve()
        text = (
            f"{kinds[-1] if kinds else 'unknown file system'} on {block.name if block.exists() else 'no block device'}"
        )
        for queue in (block / "queue", block.parent / "queue"):  # a partition has its disk's
            if queue.exists():
                return f"{text}, read_ahead_kb {(queue / 'read_ahead_kb').read_text().strip()}"
        return text


@dataclass(frozen=True)
class Sample:
    """One run: its seconds, or what else the table measures; more figures by name; CPU use as (second, percent);
    notes: what came otherwise than asked for."""

    value: float
    figures: dict[str, float] = field(default_factory=dict)
    timeline: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """`hot`: the table's files are in the page cache before a run, else nothing of them is. `read_ahead_kib`: the slow
    disk's during the run."""

    run: Callable[[], Sample]
    hot: bool = False
    read_ahead_kib: int | None = None


@dataclass(frozen=True)
class Expected:
    """How many times as good `variant` is as `baseline` answers the claim; at least `least`, or nothing is expected."""

    variant: str
    baseline: str
    least: float | None = None


@dataclass(frozen=True)
class Table:
    """limits: of the slow disk. most_rounds_n: fewer rounds than the others, because one takes long. at: where the
    table stands in a sweep, as {"readers": 4}. column: what README calls it where it says which hint to use."""

    title: str
    files: tuple[Path, ...]
    variants: dict[str, Variant]
    baselines: tuple[str, ...]
    expected: tuple[Expected, ...] = ()
    limits: dict[str, int] = field(default_factory=dict)
    unit: str = "s"
    most_rounds_n: int | None = None
    at: dict[str, float] = field(default_factory=dict)
    column: str = ""

    @property
    def more_is_better(self) -> bool:
        return self.unit != "s"


@dataclass
class Result:
    """The samples of a table by variant, in rounds."""

    table: Table
    samples: dict[str, list[Sample]]

    def spread(self, variant: str) -> Spread:
        return Spread.of(sample.value for sample in self.samples[variant])

    def ratio(self, variant: str, baseline: str) -> Spread:
        """How many times as good as the baseline: of the medians; low and high over the rounds."""
        medians = self.spread(variant).median / self.spread(baseline).median
        pairs = zip(self.samples[variant], self.samples[baseline], strict=True)
        rounds = [sample.value / base.value for sample, base in pairs]
        if self.table.more_is_better:
            return Spread(medians, min(rounds), max(rounds))
        return Spread(1 / medians, 1 / max(rounds), 1 / min(rounds))

    def figure(self, variant: str, name: str) -> float | None:
        values = [sample.figures[name] for sample in self.samples[variant] if name in sample.figures]
        return Spread.of(values).median if values else None

    def notes(self, variant: str) -> list[str]:
        return list(dict.fromkeys(note for sample in self.samples[variant] for note in sample.notes))

    def rounds_n(self) -> int:
        return len(next(iter(self.samples.values())))


def measure(place: Place, table: Table, rounds_n: int) -> Result:
    """Every variant once in each round, in an order drawn for the round. Raises NotHere when the files can not be had
    cold."""
    result = Result(table, {name: [] for name in table.variants})
    drawn = random.Random(table.title)
    for _ in range(min(rounds_n, table.most_rounds_n or rounds_n)):
        for name in drawn.sample(list(table.variants), len(table.variants)):
            result.samples[name].append(_run(place, table, table.variants[name]))
    return result


def _run(place: Place, table: Table, variant: Variant) -> Sample:
    for path in table.files:
        heat(path) if variant.hot else cool(path)
    read_ahead: AbstractContextManager[None] = nullcontext()
    if place.slow is not None and variant.read_ahead_kib is not None:
        read_ahead = place.slow.read_ahead(variant.read_ahead_kib)
    with place.limited(table.limits), read_ahead:
        before = _counters(place.directory)
        sample = variant.run()
        after = _counters(place.directory)
    spent = {name: value - before[name] for name, value in after.items()}
    return replace(sample, figures={**spent, **sample.figures})


def cool(path: Path) -> None:
    """Put the file's own pages out of memory, and see that they went."""
    with Handle.open(os.fsencode(path), os.O_RDONLY) as handle:
        left = cache.drop(handle.fd)
        if left:  # a busy disk has not brought yet what was read ahead: it has when all of the file has been read
            read_once(path)
            left = cache.drop(handle.fd)
    if left is None:
        raise NotHere("the system does not tell what the page cache holds")
    if left:
        raise NotHere(f"{left} bytes of a file stay in memory (a tmpfs?), so that nothing can be read cold")


def heat(path: Path) -> None:
    """Read the file, and see that all of it is in memory."""
    read_once(path)
    resident, size = cache.resident_bytes(os.fsencode(path)), path.stat().st_size
    if resident is not None and resident < size:
        raise BenchError(f"only {resident} of a file's {size} bytes stay in the page cache: too little memory")


def _counters(directory: Path) -> dict[str, float]:
    """Of this process and its ended children; ios and read MiB of the whole device, whoever asked it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    counters = {
        "cpu_s": sum(usage.ru_utime + usage.ru_stime for usage in used),
        "major_faults": float(sum(usage.ru_majflt for usage in used)),
    }
    device = directory.stat().st_dev
    try:
        words = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()
    except FileNotFoundError:
        return counters
    return {**counters, "ios": float(words[0]), "read_mib": int(words[2]) * _SECTOR_BYTES / 2**20}


def make_file(path: Path, size_bytes: int) -> Path:
    """A file of noise, written out, so that its write-back falls into no run."""
    block = random.Random(path.name).randbytes(1 << 20)
    with path.open("xb") as file:
        for start in range(0, size_bytes, len(block)):
            file.write(block[: size_bytes - start])
        file.flush()
        os.fsync(file.fileno())
    return path


def removed(paths: tuple[Path, ...]) -> None:
    for path in paths:
        path.unlink()


Tables = Callable[[Place, float], Iterator[Table]]


@dataclass(frozen=True)
class Claim:
    """A published claim and the benches of it. claimed: its number. tables: given a place and the scale of the files,
    makes one table after the other; each is measured before the next is asked for."""

    name: str
    source: str
    claimed: str
    tables: Tables
