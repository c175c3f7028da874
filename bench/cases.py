"""The tables of cases: one row is one job for pysort, GNU sort and, where it has a floor for them, their rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bench.realistic import MONTHS

# The contender whom floors and limits are about.
SUBJECT = "pysort"

# What pysort may use beside its buffer: the interpreter, the kernel's code, stacks of threads.
BESIDE_BUFFER_MIB = 40

Key = Callable[[bytes], Any]


@dataclass(frozen=True)
class Order:
    """What a sorted output must look like, in Python, so that no sort program vouches for itself.

    `key` must include the last-resort comparison of whole lines, except where `unique` is set:
    there, lines with equal keys are the same line to the sort. `checked` is False where no simple
    key exists: then the reference's bytes and the lines themselves are all that is compared.
    """

    key: Key | None = None  # None: the line itself
    reverse: bool = False
    unique: bool = False
    checked: bool = True


@dataclass(frozen=True)
class Case:
    name: str
    corpus: str
    options: tuple[str, ...] = ()
    order: Order = Order()
    environment: Mapping[str, str] = field(default_factory=lambda: {"LC_ALL": "C"})
    threads_n: int = 2
    subject_threads_n: int = 2
    buffer_mib: int | None = None  # -S; None: each program's own default
    piped: bool = False  # the input comes from `cat` through a pipe
    pieces_n: int = 1  # the input is that many files, each of them sorted
    checks: bool = False  # the order is checked, nothing is written
    floor: float | None = None  # least (GNU's time / pysort's time) wanted
    rival_floor: float | None = None  # the same for each rival; None: they do not take part
    most_rounds_n: int | None = None  # for cases that take long

    @property
    def rss_limit_mib(self) -> int | None:
        """pysort's highest peak wanted."""
        return None if self.buffer_mib is None else self.buffer_mib + BESIDE_BUFFER_MIB

    def sort_options(self, scale: float, threads_n: int) -> list[str]:
        """Below scale 1 the buffer shrinks with the corpus, so that a small run spills as a full one does."""
        options = [f"--parallel={threads_n}", *self.options]
        if self.buffer_mib is not None:
            options.append(f"-S{max(64, round(self.buffer_mib * 1024 * min(1.0, scale)))}K")
        return options


def _integer(line: bytes) -> Any:
    return int(line), line


def _decimal(line: bytes) -> Any:
    """Exact up to 15 digits."""
    return float(line), line


def _measurement(line: bytes) -> Any:
    return (0, 0.0, line) if line == b"NA" else (1, float(line), line)


def _usage(line: bytes) -> Any:
    size = line.partition(b"\t")[0]
    number = size.rstrip(b"KMG")
    return b"KMG".find(size[len(number) :] or b"0"), float(number), line


def _month(line: bytes) -> Any:
    return MONTHS.index(line[:3]), line


def _folded(line: bytes) -> Any:
    return line.upper(), line


def _second_word(line: bytes) -> Any:
    return line.split(b" ", 2)[1], line


def _count_then_word(line: bytes) -> Any:
    word, count, _ = line.split(b"\t", 2)
    return int(count), word, line


def _chromosome_then_start(line: bytes) -> Any:
    chromosome, start, _ = line.split(b"\t", 2)
    return chromosome, int(start), line


# A seed that every machine has, without which no two runs of -R give the same bytes.
_RANDOM_SEED = "--random-source=/dev/zero"
_UNCHECKED = Order(checked=False)
_ENGLISH = {"LC_ALL": "en_US.UTF-8"}

# Two threads each. What is judged is the floor; without one a case is there to be seen.
PEERS: tuple[Case, ...] = (
    Case("lines", "random", floor=6.0, rival_floor=1.5),
    Case("lines-25M", "random", buffer_mib=25, floor=2.0),
    # GNU sort 9.1 cannot know a pipe's size: its default buffer stays small and it spills.
    Case("pipe", "random", piped=True, floor=5.0),
    Case("merge-16", "random", ("-m",), pieces_n=16, floor=2.0),
    Case("fold-case", "random", ("-f",), Order(_folded), floor=4.0),
    Case("reverse", "random", ("-r",), Order(reverse=True)),
    Case("records-128M", "gigabyte", buffer_mib=128, floor=4.0, most_rounds_n=3),
    Case("records-32M", "gigabyte", buffer_mib=32, floor=3.0, most_rounds_n=3),
    Case("urls", "urls", floor=4.0),
    Case("numeric", "integers", ("-n",), Order(_integer), floor=6.0),
    Case("floats", "measurements", ("-g",), Order(_measurement), floor=12.0),
    Case("tab-2n-1", "table", ("-t", "\t", "-k2,2n", "-k1,1"), Order(_count_then_word), floor=5.0),
    Case("intervals", "intervals", ("-k1,1", "-k2,2n"), Order(_chromosome_then_start), floor=5.0),
    Case("unique", "duplicates", ("-u",), Order(unique=True), floor=5.0),
    Case("prose", "prose", (), _UNCHECKED, environment=_ENGLISH, floor=8.0),
    Case("versions", "releases", ("-V",), _UNCHECKED, floor=8.0),
    Case("sizes", "usage", ("-h",), Order(_usage), floor=6.0),
    Case("months", "logs", ("-M",), Order(_month), floor=4.0),
    Case("shuffle", "links", ("-R", _RANDOM_SEED), _UNCHECKED, floor=10.0, most_rounds_n=3),
    Case("presorted", "presorted", floor=1.5),
    # Of 100 MB GNU sort needs twice the time that pysort needs to start; 1 GB shows what checking itself takes.
    Case("check", "presorted-gigabyte", ("-c",), checks=True, floor=1.5),
    Case("check-100M", "presorted", ("-c",), checks=True, floor=1.5),
    Case("reversed", "reversed", floor=2.0),
    Case("equal", "equal", floor=1.5),
    Case("empty-lines", "empty"),
)


def _on_one_thread(
    name: str,
    corpus: str,
    options: tuple[str, ...],
    floor: float,
    order: Order = _UNCHECKED,
    environment: Mapping[str, str] = MappingProxyType({"LC_ALL": "C"}),
) -> Case:
    return Case(name, corpus, options, order, environment, subject_threads_n=1, floor=floor)


# One ordering each, on 2,000,000 lines of the kind that people sort by it; pysort on one thread, GNU sort on two.
ORDERINGS: tuple[Case, ...] = (
    _on_one_thread("collation", "prose", (), 4.0, environment=_ENGLISH),
    _on_one_thread("number", "amounts", ("-n",), 3.0, Order(_decimal)),
    _on_one_thread("general-number", "measurements", ("-g",), 6.0, Order(_measurement)),
    _on_one_thread("version", "releases", ("-V",), 5.0),
    _on_one_thread("random", "links", ("-R", _RANDOM_SEED), 5.0),
    _on_one_thread("human-number", "usage", ("-h",), 3.0, Order(_usage)),
    _on_one_thread("month", "logs", ("-M",), 2.0, Order(_month)),
    _on_one_thread("folded", "prose", ("-f",), 2.0, Order(_folded)),
    _on_one_thread("field", "accounts", ("-k2,2",), 2.0, Order(_second_word)),
    _on_one_thread("half-unique", "checksums", ("-u",), 2.0, Order(unique=True)),
)

# The name of a group is that of its result files and of its table in README.md.
GROUPS: dict[str, tuple[Case, ...]] = {"peers": PEERS, "orderings": ORDERINGS}
