"""The tables of cases: one row is one comparison with GNU sort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.realistic import MONTHS

# The contender whom floors and limits are about.
SUBJECT = "pysort"

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
    threads: int = 2
    buffer_mib: int | None = None  # -S; None: each program's own default
    piped: bool = False  # the input comes from `cat` through a pipe
    floor: float | None = None  # least (GNU's time / pysort's time) wanted
    rss_limit_mib: int | None = None  # pysort's highest peak wanted

    def sort_options(self, scale: float) -> list[str]:
        """The options every contender gets. Below scale 1 the buffer shrinks with the corpus,
        so that a small run spills as a full one does."""
        options = [f"--parallel={self.threads}", *self.options]
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


PEERS: tuple[Case, ...] = (
    Case("lines", "random", floor=3.0),
    Case("lines-25M", "random", buffer_mib=25, floor=2.0, rss_limit_mib=25 + 64),
    Case("records-25M", "records", buffer_mib=25, rss_limit_mib=25 + 64),
    Case("urls", "urls"),
    Case("numeric", "integers", ("-n",), Order(_integer)),
    Case("tab-2n-1", "table", ("-t", "\t", "-k2,2n", "-k1,1"), Order(_count_then_word)),
    Case("intervals", "intervals", ("-k1,1", "-k2,2n"), Order(_chromosome_then_start)),
    Case("unique", "duplicates", ("-u",), Order(unique=True)),
    Case("fold-case", "random", ("-f",), Order(_folded)),
    Case("reverse", "random", ("-r",), Order(reverse=True)),
    Case("presorted", "presorted"),
    Case("reversed", "reversed"),
    Case("equal", "equal"),
    Case("empty-lines", "empty"),
    # GNU sort 9.1 cannot know a pipe's size: its default buffer stays small and it spills.
    Case("pipe", "random", piped=True),
)

# One ordering each, on 2,000,000 lines of the kind that people sort by it.
_UNCHECKED = Order(checked=False)
ORDERINGS: tuple[Case, ...] = (
    Case("collation", "prose", (), _UNCHECKED, environment={"LC_ALL": "en_US.UTF-8"}, floor=4.0),
    Case("number", "amounts", ("-n",), Order(_decimal), floor=3.0),
    Case("general-number", "measurements", ("-g",), Order(_measurement), floor=6.0),
    Case("version", "releases", ("-V",), _UNCHECKED, floor=5.0),
    # A seed that every machine has, without which no two runs give the same bytes.
    Case("random", "links", ("-R", "--random-source=/dev/zero"), _UNCHECKED, floor=5.0),
    Case("human-number", "usage", ("-h",), Order(_usage), floor=3.0),
    Case("month", "logs", ("-M",), Order(_month), floor=2.0),
    Case("folded", "prose", ("-f",), Order(_folded), floor=2.0),
    Case("field", "accounts", ("-k2,2",), Order(_second_word), floor=2.0),
    Case("half-unique", "checksums", ("-u",), Order(unique=True), floor=2.0),
)

# The name of a group is that of its result files and of its table in README.md.
GROUPS: dict[str, tuple[Case, ...]] = {"peers": PEERS, "orderings": ORDERINGS}
